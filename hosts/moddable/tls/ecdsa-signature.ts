import { isScalar, orderOfP256, toBigInt } from "update/p256";

/** Orders of secp256r1 and secp384r1 (SEC 2, 2.4.2 and 2.5.1). A function, since XS corrupts BigInts at module level. */
const orders = () => [
	orderOfP256(),
	0xffffffff_ffffffff_ffffffff_ffffffff_ffffffff_ffffffff_c7634d81_f4372ddf_581a0db2_48b0a77a_ecec196a_ccc52973n,
];

/**
 * Returns whether a signature is `SEQUENCE { INTEGER r, INTEGER s }` (RFC 3279, 2.2.3) with both numbers above 0 and below the curve's
 * order (FIPS 186-5, 6.4.2). If s is a multiple of the order, the SDK (modules/crypt/arith/xsBigIntEx.c, mulinv) loops until the
 * watchdog restarts the board.
 * @param curveOrder undefined if the curve is unknown
 */
export function isEcdsaSignature(der: Uint8Array, curveOrder?: bigint): boolean {
	const s = 4 + (der[3] ?? 0);
	const end = s + 2 + (der[s + 1] ?? 0);
	return (
		der[0] === 0x30 &&
		der[1] === der.byteLength - 2 &&
		end === der.byteLength &&
		isInRange(der.subarray(2, s), curveOrder) &&
		isInRange(der.subarray(s), curveOrder)
	);
}

function isInRange(integer: Uint8Array, curveOrder: bigint | undefined): boolean {
	const [tag, , first = 0x80] = integer;
	if (tag !== 2 || first >= 0x80) return false;
	const value = toBigInt(integer.subarray(2));
	if (curveOrder !== undefined) return isScalar(value, curveOrder);
	return orders().some((order) => isScalar(value, order)) && orders().every((order) => value % order !== 0n);
}
