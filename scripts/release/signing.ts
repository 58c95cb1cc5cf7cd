/** Signing of releases: public keys in the firmware, and signatures of images. */

import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { sha256Of } from "../../gateway/digest.js";
import { findSignatureProblem, type ReleaseKeys, releaseKeyOf } from "../../gateway/firmware/release-keys.js";
import { errorCode } from "../../gateway/problem.js";

export interface Signing {
	/** Public keys in the firmware; without keys it accepts any firmware. */
	readonly releaseKeys: ReleaseKeys;
	/** @param image image without trailing data @returns base64 of r and s, 32 bytes each (IEEE P1363) */
	readonly sign?: (image: Uint8Array) => string;
}

/**
 * @param keyFile PEM file of an ECDSA P-256 private key; undefined for an unsigned release
 * @param configured public keys of RELEASE_KEYS; default: the one of `keyFile`
 * @throws Error if devices would reject the release
 */
export function prepareSigning(keyFile: string | undefined, configured: ReleaseKeys): Signing {
	if (keyFile === undefined) {
		if (configured.length === 0) return { releaseKeys: [] };
		throw new Error(
			"RELEASE_KEYS is set, so devices require signed firmware. Specify the private key with --key, or unset RELEASE_KEYS.",
		);
	}
	const key = readPrivateKey(keyFile);
	const signed = (image: Uint8Array) =>
		sign("sha256", image, { key, dsaEncoding: "ieee-p1363" }).toString("base64");
	const releaseKeys = configured.length > 0 ? configured : [releaseKeyOf(createPublicKey(key))];
	const sample = Buffer.from("a sample");
	const sha256 = sha256Of(sample);
	if (findSignatureProblem(releaseKeys, sha256, signed(sample)))
		throw new Error(
			`The public key of ${keyFile} is not in RELEASE_KEYS. During a key rotation, RELEASE_KEYS contains both keys, and the old one signs.`,
		);
	return { releaseKeys, sign: signed };
}

function readPrivateKey(file: string): KeyObject {
	let pem: string;
	try {
		pem = readFileSync(file, "utf8");
	} catch (error) {
		throw new Error(`${file} cannot be read (${errorCode(error)}). Generate a key with npm run keygen.`);
	}
	let key: KeyObject;
	try {
		key = createPrivateKey(pem);
	} catch {
		throw new Error(`${file} is not an unencrypted private key in PEM. Generate a key with npm run keygen.`);
	}
	if (key.asymmetricKeyDetails?.namedCurve !== "prime256v1")
		throw new Error(`${file} is not an ECDSA P-256 key. Generate a key with npm run keygen.`);
	return key;
}
