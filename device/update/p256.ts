/**
 * ECDSA verification on the curve P-256 (FIPS 186-5, 6.4.2; SEC 2, 2.4.2), by BigInt alone: the same code on every host. The SDK's
 * `ecdsa` loops without end where s is a multiple of the order, and refuses valid signatures whose point has an x above the order.
 * It handles public values only, so its time may depend on them. No BigInt is at module level: XS damages it in ROM.
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
/** The point at infinity. */
type Neutral = undefined;

/** Of the base point. */
export function orderOfP256(): bigint {
	return 0xffffffff_00000000_ffffffff_ffffffff_bce6faad_a7179e84_f3b9cac2_fc632551n;
}

/** FIPS 186-5, 6.4.2, step 1: r and s must be such numbers. @param order of the curve's base point */
export function isScalar(value: bigint, order = orderOfP256()): boolean {
	return value > 0n && value < order;
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
export function isSignedBy(key: PublicKey, sha256: ArrayBuffer, { r, s }: Signature): boolean {
	if (!isScalar(r) || !isScalar(s)) return false;
	const order = orderOfP256();
	const inverse = invert(s, order);
	const u1 = (toBigInt(new Uint8Array(sha256)) * inverse) % order;
	const u2 = (r * inverse) % order;
	return new P256().sumOfMultiples(u1, u2, key, (x, zz, p) => {
		// The affine x modulo the order is r: x is r, or r + order, without a division.
		return (r * zz - x) % p === 0n || (r + order < p && ((r + order) * zz - x) % p === 0n);
	});
}

/** By Euclid's algorithm. @param value above 0 and below `prime` */
function invert(value: bigint, prime: bigint): bigint {
	let [a, b] = [prime, value];
	let [u, v] = [0n, 1n];
	while (b > 1n) {
		const quotient = a / b;
		[a, b] = [b, a - quotient * b];
		[u, v] = [v, u - quotient * v];
	}
	return modulo(v, prime);
}

class P256 {
	/** Of the field. */
	readonly #p = 0xffffffff_00000001_00000000_00000000_00000000_ffffffff_ffffffff_ffffffffn;
	readonly #base: Point = {
		x: 0x6b17d1f2_e12c4247_f8bce6e5_63a440f2_77037d81_2deb33a0_f4a13945_d898c296n,
		y: 0x4fe342e2_fe1a7f9b_8ee7eb4a_7c0f9e16_2bce3357_6b315ece_cbb64068_37bf51f5n,
		z: 1n,
	};

	/**
	 * u1 · base + u2 · key, both at once (Shamir's trick).
	 *
	 * @param evaluate gets X and Z² of the sum, and the field's prime; not called for the point at infinity
	 * @returns what `evaluate` does; false for the point at infinity
	 */
	sumOfMultiples(
		u1: bigint,
		u2: bigint,
		{ x, y }: PublicKey,
		evaluate: (x: bigint, zz: bigint, p: bigint) => boolean,
	): boolean {
		const key = { x, y, z: 1n };
		const both = this.#add(this.#base, key);
		const bits1 = bitsOf(u1);
		const bits2 = bitsOf(u2);
		let sum: Point | Neutral;
		for (let index = 0; index < 256; index++) {
			if (sum) sum = this.#double(sum);
			const isFirst = bits1[index] === "1";
			const isSecond = bits2[index] === "1";
			if (isFirst && isSecond) sum = this.#add(sum, both);
			else if (isFirst) sum = this.#add(sum, this.#base);
			else if (isSecond) sum = this.#add(sum, key);
		}
		return sum !== undefined && evaluate(sum.x, (sum.z * sum.z) % this.#p, this.#p);
	}

	/** "dbl-2001-b" of the Explicit-Formulas Database, for a = -3. No point of this curve has y = 0. */
	#double({ x, y, z }: Point): Point {
		const p = this.#p;
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
	#add(a: Point | Neutral, b: Point | Neutral): Point | Neutral {
		if (!a) return b;
		if (!b) return a;
		const p = this.#p;
		const zz1 = (a.z * a.z) % p;
		const zz2 = (b.z * b.z) % p;
		const u1 = (a.x * zz2) % p;
		const s1 = (((a.y * b.z) % p) * zz2) % p;
		const h = modulo(b.x * zz1 - u1, p);
		const r = modulo(((b.y * a.z) % p) * zz1 - s1, p);
		if (h === 0n) return r === 0n ? this.#double(a) : undefined;
		const hh = (h * h) % p;
		const hhh = (h * hh) % p;
		const v = (u1 * hh) % p;
		const x3 = modulo(r * r - hhh - 2n * v, p);
		return { x: x3, y: modulo(r * (v - x3) - s1 * hhh, p), z: (((a.z * b.z) % p) * h) % p };
	}
}

function bitsOf(value: bigint): string {
	return value.toString(2).padStart(256, "0");
}

function modulo(value: bigint, divisor: bigint): bigint {
	const rest = value % divisor;
	return rest < 0n ? rest + divisor : rest;
}
