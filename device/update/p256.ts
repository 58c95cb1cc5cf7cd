/**
 * ECDSA verification on the curve P-256 (FIPS 186-5, 6.4.2; SEC 2, 2.4.2) with BigInt: the same code on every host.
 * The SDK's `ecdsa` loops forever for an s that is a multiple of the order, and rejects valid signatures whose point has
 * an x above the order. All values are public, so the code need not be constant-time. No BigInt at module level, since XS
 * damages it in ROM.
 */

export interface PublicKey {
	/** Coordinates of a point on the curve. */
	readonly x: bigint;
	readonly y: bigint;
}

/** Both above 0 and below the order (FIPS 186-5, 6.4.2, step 1), as `readSignature` returns them. */
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

/** Bits of the 256-bit scalars processed in a step. */
const bitsPerStep = 16;

/** Order of the base point. */
export function orderOfP256(): bigint {
	return 0xffffffff_00000000_ffffffff_ffffffff_bce6faad_a7179e84_f3b9cac2_fc632551n;
}

/** FIPS 186-5, 6.4.2, step 1. @param order of the curve's base point */
export function isScalar(value: bigint, order = orderOfP256()): boolean {
	return value > 0n && value < order;
}

/** @param bytes big-endian */
export function toBigInt(bytes: Uint8Array): bigint {
	let value = 0n;
	for (const byte of bytes) value = (value << 8n) | BigInt(byte);
	return value;
}

/** Checks whether one of the keys has signed a message, in 16 steps per key of about 40 ms each on a board. */
export class Verification {
	readonly #curve = new P256();
	readonly #keys: readonly PublicKey[];
	readonly #signature: Signature;
	/** Binary digits of the scalars u1 and u2, 256 each. */
	readonly #bits1: string;
	readonly #bits2: string;
	#keyIndex = 0;
	#bitIndex = 0;
	#sum: Point | Neutral;

	/**
	 * @param keys points on the curve
	 * @param sha256 of the message
	 */
	constructor(keys: readonly PublicKey[], sha256: ArrayBuffer, { r, s }: Signature) {
		const order = orderOfP256();
		const inverse = invert(s, order);
		this.#keys = keys;
		this.#signature = { r, s };
		this.#bits1 = bitsOf((toBigInt(new Uint8Array(sha256)) * inverse) % order);
		this.#bits2 = bitsOf((r * inverse) % order);
	}

	/** @returns undefined until the last step */
	next(): boolean | undefined {
		const key = this.#keys[this.#keyIndex];
		if (!key) return false;
		const from = this.#bitIndex;
		this.#bitIndex += bitsPerStep;
		const bits1 = this.#bits1.slice(from, this.#bitIndex);
		const bits2 = this.#bits2.slice(from, this.#bitIndex);
		this.#sum = this.#curve.addMultiples(this.#sum, bits1, bits2, key);
		if (this.#bitIndex < 256) return undefined;
		if (this.#sum && this.#curve.hasX(this.#sum, this.#signature.r)) return true;
		this.#sum = undefined;
		this.#bitIndex = 0;
		this.#keyIndex += 1;
		return this.#keyIndex < this.#keys.length ? undefined : false;
	}
}

export function finish(verification: Verification): boolean {
	for (;;) {
		const isSigned = verification.next();
		if (isSigned !== undefined) return isSigned;
	}
}

/** @param key a point on the curve @param sha256 of the message */
export function isSignedBy(key: PublicKey, sha256: ArrayBuffer, signature: Signature): boolean {
	return finish(new Verification([key], sha256, signature));
}

/** Modular inverse by Euclid's algorithm. @param value above 0 and below `prime` */
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
	/** Prime of the field. */
	readonly #p = 0xffffffff_00000001_00000000_00000000_00000000_ffffffff_ffffffff_ffffffffn;
	readonly #base: Point = {
		x: 0x6b17d1f2_e12c4247_f8bce6e5_63a440f2_77037d81_2deb33a0_f4a13945_d898c296n,
		y: 0x4fe342e2_fe1a7f9b_8ee7eb4a_7c0f9e16_2bce3357_6b315ece_cbb64068_37bf51f5n,
		z: 1n,
	};

	/**
	 * Computes sum · 2ⁿ + u1 · base + u2 · key in one pass (Shamir's trick). @param bits1 n bits of u1; bits2 has as many
	 */
	addMultiples(sum: Point | Neutral, bits1: string, bits2: string, { x, y }: PublicKey): Point | Neutral {
		const key = { x, y, z: 1n };
		const both = this.#add(this.#base, key);
		let result = sum;
		for (let index = 0; index < bits1.length; index++) {
			if (result) result = this.#double(result);
			const isFirst = bits1[index] === "1";
			const isSecond = bits2[index] === "1";
			if (isFirst && isSecond) result = this.#add(result, both);
			else if (isFirst) result = this.#add(result, this.#base);
			else if (isSecond) result = this.#add(result, key);
		}
		return result;
	}

	/** Whether the affine x modulo the order is r. Compares x with r and r + order, which avoids a division. */
	hasX({ x, z }: Point, r: bigint): boolean {
		const p = this.#p;
		const zz = (z * z) % p;
		const next = r + orderOfP256();
		return (r * zz - x) % p === 0n || (next < p && (next * zz - x) % p === 0n);
	}

	/** Doubling, "dbl-2001-b" of the Explicit-Formulas Database, for a = -3. No point of this curve has y = 0. */
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

	/** Addition, "add-1998-cmo-2" of the same database. */
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
