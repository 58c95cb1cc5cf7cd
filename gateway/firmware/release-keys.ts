/**
 * Public keys of signed firmware, and signature verification with the code of the devices: `node:crypto` verifies whole
 * messages only, not the SHA-256 of an upload streamed to disk. The gateway never has a private key.
 */

import { createPublicKey, type KeyObject } from "node:crypto";
import { isSignedBy, type PublicKey } from "../../device/update/p256.js";
import { readSignature } from "../../device/update/signature.js";

/** Up to two keys, two during a key replacement. Without keys, signatures are not verified. */
export type ReleaseKeys = readonly PublicKey[];

/**
 * @param pem one or two "PUBLIC KEY" blocks (RFC 7468)
 * @throws {Error} with the problem and the remedy
 */
export function parseReleaseKeys(pem: string): ReleaseKeys {
	if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem))
		throw new Error("it contains a private key. Use only the public key that npm run keygen prints");
	const blocks = pem.match(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g) ?? [];
	if (blocks.length < 1 || blocks.length > 2)
		throw new Error(`it contains ${blocks.length} public keys in PEM format instead of one or two`);
	return blocks.map((block) => releaseKeyOf(createPublicKey(block)));
}

/** @throws {Error} if the key is not an ECDSA P-256 key */
export function releaseKeyOf(key: KeyObject): PublicKey {
	const { crv, x = "", y = "" } = key.export({ format: "jwk" });
	if (crv !== "P-256")
		throw new Error("it contains a key other than ECDSA P-256. Create one with npm run keygen");
	const [first, second] = [x, y].map((number) =>
		BigInt(`0x${Buffer.from(number, "base64url").toString("hex")}`),
	);
	return { x: first ?? 0n, y: second ?? 0n };
}

/**
 * @param sha256 digest of the image up to the end given in its header, in hex
 * @param signature base64 of r and s, 32 bytes each (IEEE P1363)
 * @returns reason why devices with these keys would reject the image; undefined if they accept it, or without keys
 */
export function findSignatureProblem(
	keys: ReleaseKeys,
	sha256: string,
	signature: string | undefined,
): string | undefined {
	if (keys.length === 0) return undefined;
	if (signature === undefined) return "is not signed";
	const numbers = readSignature(signature);
	const hash = Uint8Array.from(Buffer.from(sha256, "hex")).buffer;
	if (numbers && keys.some((key) => isSignedBy(key, hash, numbers))) return undefined;
	return "has a signature that matches no key in RELEASE_KEYS, or was modified after signing";
}
