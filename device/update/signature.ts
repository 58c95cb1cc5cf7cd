/**
 * Verifies firmware signatures: ECDSA P-256 over the image's SHA-256, by one of the public keys compiled in. Access to
 * the gateway or its tokens alone does not suffice to install other firmware.
 */

import { decodeBase64 } from "./base64.js";
import { isScalar, type PublicKey, type Signature, toBigInt, Verification } from "./p256.js";

/**
 * @param base64 of 64 bytes: r and s, big-endian (IEEE P1363)
 * @returns undefined for an invalid encoding, or if r or s is not above 0 and below the order
 */
export function readSignature(base64: string): Signature | undefined {
	const bytes = decodeBase64(base64, 64);
	if (!bytes) return undefined;
	const r = toBigInt(bytes.subarray(0, 32));
	const s = toBigInt(bytes.subarray(32));
	return isScalar(r) && isScalar(s) ? { r, s } : undefined;
}

/**
 * @param text one or two keys, separated by a comma: x and y, 64 hex digits each; empty: none
 * @throws Error for an invalid encoding
 */
export function readReleaseKeys(text: string): readonly PublicKey[] {
	if (text === "") return [];
	const keys = text.split(",");
	if (keys.length > 2 || keys.some((key) => !/^[\da-f]{128}$/.test(key)))
		throw new Error(
			"The running firmware was built with invalid release keys; rebuild and install it with npm run flash.",
		);
	return keys.map((key) => ({ x: BigInt(`0x${key.slice(0, 64)}`), y: BigInt(`0x${key.slice(64)}`) }));
}

/** Reason for `ota_error`. */
export const wrongSignature =
	"The firmware's signature is invalid: it was made with a key that this device does not know, or for another image.";

/**
 * Reads the signature of an update.
 * @param releaseKeys see `readReleaseKeys` @param signature of `start_ota`
 * @returns a function that begins the verification of the image's SHA-256; undefined if no key is compiled in, so that any
 * firmware is accepted
 * @throws Error whose message is the reason for `ota_error`
 */
export function readUpdateSignature(
	releaseKeys: string,
	signature: string | undefined,
): ((sha256: ArrayBuffer) => Verification) | undefined {
	const keys = readReleaseKeys(releaseKeys);
	if (keys.length === 0) return undefined;
	if (signature === undefined)
		throw new Error(
			"The firmware is not signed, and this device requires a signature; release it with --key, or upload it with its signature.",
		);
	const numbers = readSignature(signature);
	if (!numbers)
		throw new Error(
			"The firmware's signature is malformed; it must be ECDSA P-256: base64 of r and s, each above 0 and below the curve's order.",
		);
	return (sha256) => new Verification(keys, sha256, numbers);
}
