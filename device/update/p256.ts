/**
 * ECDSA verification on the curve P-256 (FIPS 186-5, 6.4.2; SEC 2, 2.4.2), by BigInt alone: the same code on every host. The SDK's
 * `ecdsa` loops without end where s is a multiple of the order, and refuses valid signatures whose point has an x above the order.
 * It handles public values only, so its time may depend on them.
 */

export interface PublicKey {
	/** Coordinates of a point on the curve. */
	readonly x: bigint;
	readonly y: bigint;
}

export interface Signature {
	readonly r: bigint;
	readonly s: bigint;
}

/** Jacobian coordinates: x = X / Z², y = Y / Z³. */
interface Point {
	readonly x: bigint;
	readonly y: bigint;
	readonly z: bigint;
}
/** The neutral point. No constant with z = 0n: in ROM it would equal no computed 0n (XS, xsRun.c, XS_CODE_STRICT_EQUAL). */
type Neutral = undefined;

/** The field's prime. */
const p = 0xffffffff_00000001_00000000_00000000_00000000_ffffffff_ffffffff_ffffffffn;
/** The order of the base point. */
export const order = 0xffffffff_00000000_ffffffff_ffffffff_bce6faad_a7179e84_f3b9cac2_fc632551n;
const base: Point = Object.freeze({
	x: 0x6b17d1f2_e12c4247_f8bce6e5_63a440f2_77037d81_2deb33a0_f4a13945_d898c296n,
	y: 0x4fe342e2_fe1a7f9b_8ee7eb4a_7c0f9e16_2bce3357_6b315ece_cbb64068_37bf51f5n,
	z: 1n,
});

/** FIPS 186-5, 6.4.2, step 1: r and s must be such numbers. @param curveOrder of another curve */
export function isScalar(value: bigint, curveOrder = order): boolean {
	return value > 0n && value < curveOrder;
}

/** @param bytes big-endian */
export function toBigInt(bytes: Uint8Array): bigint {
	let value = 0n;
	for (const byte of bytes) value = (value << 8n) | BigInt(byte);
	return value;
}

/**
 * @param key a point on the curve
 * @param sha256 of the message
 */
export function isSignedBy({ x, y }: PublicKey, sha256: ArrayBuffer, { r, s }: Signature): boolean {
	if (!isScalar(r) || !isScalar(s)) return false;
	const inverse = invert(s);
	const point = sumOfMultiples((toBigInt(new Uint8Array(sha256)) * inverse) % order, (r * inverse) % order, {
		x,
		y,
		z: 1n,
	});
	if (point === undefined) return false;
	const zz = (point.z * point.z) % p;
	// The affine x modulo the order is r: x is r, or r + order, without a division.
	return (r * zz - point.x) % p === 0n || (r + order < p && ((r + order) * zz - point.x) % p === 0n);
}

/** Modulo the order, by Euclid's algorithm. @param value a scalar */
function invert(value: bigint): bigint {
	let [a, b] = [order, value];
	let [u, v] = [0n, 1n];
	while (b > 1n) {
		const quotient = a / b;
		[a, b] = [b, a - quotient * b];
		[u, v] = [v, u - quotient * v];
	}
	return modulo(v, order);
}

/** u1 · base + u2 · key, both at once (Shamir's trick). */
function sumOfMultiples(u1: bigint, u2: bigint, key: Point): Point | Neutral {
	const both = add(base, key);
	const bits1 = bitsOf(u1);
	const bits2 = bitsOf(u2);
	let sum: Point | Neutral;
	for (let index = 0; index < 256; index++) {
		if (sum) sum = double(sum);
		const isFirst = bits1[index] === "1";
		const isSecond = bits2[index] === "1";
		if (isFirst && isSecond) sum = add(sum, both);
		else if (isFirst) sum = add(sum, base);
		else if (isSecond) sum = add(sum, key);
	}
	return sum;
}

function bitsOf(value: bigint): string {
	return value.toString(2).padStart(256, "0");
}

/** "dbl-2001-b" of the Explicit-Formulas Database, for a = -3. No point of this curve has y = 0. */
function double({ x, y, z }: Point): Point {
	const delta = (z * z) % p;
	const gamma = (y * y) % p;
	const beta = (x * gamma) % p;
	const alpha = (3n * (x - delta) * (x + delta)) % p;
	const x3 = modulo(alpha * alpha - 8n * beta, p);
	return {
		x: x3,
		y: modulo(alpha * (4n * beta - x3) - 8n * gamma * gamma, p),
		z: modulo(2n * y * z, p),
	};
}

/** "add-1998-cmo-2" of the same database. */
function add(a: Point | Neutral, b: Point | Neutral): Point | Neutral {
	if (!a) return b;
	if (!b) return a;
	const zz1 = (a.z * a.z) % p;
	const zz2 = (b.z * b.z) % p;
	const u1 = (a.x * zz2) % p;
	const s1 = (((a.y * b.z) % p) * zz2) % p;
	const h = modulo(b.x * zz1 - u1, p);
	const r = modulo(((b.y * a.z) % p) * zz1 - s1, p);
	if (h === 0n) return r === 0n ? double(a) : undefined;
	const hh = (h * h) % p;
	const hhh = (h * hh) % p;
	const v = (u1 * hh) % p;
	const x3 = modulo(r * r - hhh - 2n * v, p);
	return { x: x3, y: modulo(r * (v - x3) - s1 * hhh, p), z: (((a.z * b.z) % p) * h) % p };
}

function modulo(value: bigint, divisor: bigint): bigint {
	const rest = value % divisor;
	return rest < 0n ? rest + divisor : rest;
}
