/**
 * `SEQUENCE { INTEGER r, INTEGER s }` (RFC 3279, 2.2.3), both above 0. For s = 0 the SDK (modules/crypt/arith/xsBigIntEx.c, mulinv)
 * loops until the watchdog restarts the board.
 */
export function isEcdsaSignature(der: Uint8Array): boolean {
	const s = 4 + (der[3] ?? 0);
	const end = s + 2 + (der[s + 1] ?? 0);
	return (
		der[0] === 0x30 &&
		der[1] === der.byteLength - 2 &&
		end === der.byteLength &&
		isPositive(der.subarray(2, s)) &&
		isPositive(der.subarray(s))
	);
}

function isPositive(integer: Uint8Array): boolean {
	const [tag, , first = 0x80] = integer;
	return tag === 2 && first < 0x80 && integer.subarray(2).some((byte) => byte !== 0);
}
