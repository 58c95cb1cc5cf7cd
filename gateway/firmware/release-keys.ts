/**
 * The public keys by which firmware is signed, and the check of signatures with the devices' own code: `node:crypto`
 * takes only whole messages, not the SHA-256 of an upload that was streamed to disk. The gateway never has a private key.
 */

import { createPublicKey, type KeyObject } from "node:crypto";
import { isSignedBy, type PublicKey } from "../../device/update/p256.js";
import { readSignature } from "../../device/update/signature.js";

/** Two while one replaces the other; none: signatures are not checked. */
export type ReleaseKeys = readonly PublicKey[];

/**
 * @param pem one or two blocks "PUBLIC KEY" (RFC 7468)
 * @throws {Error} says what to put there
 */
export function parseReleaseKeys(pem: string): ReleaseKeys {
	if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem))
		throw new Error("it holds a private key; put only the public half there, as npm run keygen prints it");
	const blocks = pem.match(/-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g) ?? [];
	if (blocks.length < 1 || blocks.length > 2)
		throw new Error(`it holds ${blocks.length} public keys in PEM; one or two are needed`);
	return blocks.map((block) => releaseKeyOf(createPublicKey(block)));
}

/** @throws {Error} if it is a key of another kind */
export function releaseKeyOf(key: KeyObject): PublicKey {
	const { crv, x = "", y = "" } = key.export({ format: "jwk" });
	if (crv !== "P-256")
		throw new Error("it holds a key that is not one of ECDSA P-256; make one by npm run keygen");
	const [first, second] = [x, y].map((number) =>
		BigInt(`0x${Buffer.from(number, "base64url").toString("hex")}`),
	);
	return { x: first ?? 0n, y: second ?? 0n };
}

/**
 * @param sha256 of the image up to its end by its own header, in hex
 * @param signature base64 of r and s, 32 bytes each (IEEE P1363)
 * @returns why devices with these keys would refuse it; undefined if they accept it, or there are no keys
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
	return "is signed, but with another key than those in RELEASE_KEYS, or it has changed since";
}
