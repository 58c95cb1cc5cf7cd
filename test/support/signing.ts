/** Keys and signatures of releases, as made by keygen and release. */

import {
	createECDH,
	createHash,
	createPrivateKey,
	createPublicKey,
	generateKeyPairSync,
	type KeyObject,
	sign,
} from "node:crypto";
import type { PublicKey } from "../../device/update/p256.js";
import { releaseKeyOf } from "../../gateway/firmware/release-keys.js";
import { formatReleaseKeys } from "../../scripts/command-line/release-keys.js";

/** Order of P-256 (SEC 2, 2.4.2). */
export const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

export interface ReleaseKey {
	readonly publicKey: PublicKey;
	/** Public key as compiled in. */
	readonly text: string;
	/** @returns base64 of r and s */
	sign(image: Uint8Array): string;
}

/** @param seed makes the key reproducible, for firmware that is built once for many runs; default: a random key */
export function makeReleaseKey(seed?: string): ReleaseKey {
	const { publicKey, privateKey } =
		seed === undefined ? generateKeyPairSync("ec", { namedCurve: "P-256" }) : keyFrom(seed);
	const point = releaseKeyOf(publicKey);
	return {
		publicKey: point,
		text: formatReleaseKeys([point]),
		sign: (image) => sign("sha256", image, { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64"),
	};
}

function keyFrom(seed: string): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
	const curve = createECDH("prime256v1");
	curve.setPrivateKey(createHash("sha256").update(seed).digest());
	const point = curve.getPublicKey();
	const [x, y, d] = [point.subarray(1, 33), point.subarray(33), curve.getPrivateKey()];
	const encode = (number: Buffer = Buffer.alloc(0)) => number.toString("base64url");
	const privateKey = createPrivateKey({
		format: "jwk",
		key: { kty: "EC", crv: "P-256", x: encode(x), y: encode(y), d: encode(d) },
	});
	return { privateKey, publicKey: createPublicKey(privateKey) };
}

/** @returns base64 of r and s */
export function encodeSignature(r: bigint, s: bigint): string {
	return Buffer.from([r, s].map((value) => value.toString(16).padStart(64, "0")).join(""), "hex").toString(
		"base64",
	);
}

/** @returns r and s */
function decodeSignature(signature: string): [bigint, bigint] {
	const hex = Buffer.from(signature, "base64").toString("hex");
	return [BigInt(`0x${hex.slice(0, 64)}`), BigInt(`0x${hex.slice(64)}`)];
}

/** Invalid signatures of an image by fault. @param other another image, also signed with `key` */
export function badSignatures(key: ReleaseKey, image: Uint8Array, other: Uint8Array) {
	const [r, s] = decodeSignature(key.sign(image));
	return {
		"by another key": makeReleaseKey().sign(image),
		"for another image": key.sign(other),
		"with r and s swapped": encodeSignature(s, r),
		"with r = 0": encodeSignature(0n, s),
		"with s = 0": encodeSignature(r, 0n),
		"with r = s = 0": encodeSignature(0n, 0n),
		"with r = n": encodeSignature(order, s),
		"with s = n": encodeSignature(r, order),
		"with the greatest r and s": encodeSignature(2n ** 256n - 1n, 2n ** 256n - 1n),
		missing: undefined,
	} satisfies Record<string, string | undefined>;
}
