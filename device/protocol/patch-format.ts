/**
 * Format of patches from the running firmware image to a new one. All numbers are little-endian.
 *
 * A header (`patchHead`) is followed by one stream, compressed by LZSS: a byte of flags precedes each eight items, lowest
 * bit first. Flag 0: a literal byte. Flag 1: a match of two bytes, a 16-bit number whose low 11 bits are the distance
 * minus 1 and whose high 5 bits are the length minus `minMatch`.
 *
 * The decompressed stream is a sequence of operations. Each begins with a LEB128 number of at most 4 bytes: its low 2
 * bits are the kind, the others a byte count above 0. As in bsdiff, moved code differs in few bytes, mostly alike.
 */

export const patchOperations = Object.freeze({
	/** Copies bytes of the source from the current position. */
	copy: 0,
	/** Copies, and adds to each byte, modulo 256, one of the bytes that follow. */
	add: 1,
	/** Copies the bytes that follow. */
	insert: 2,
	/** Moves the position in the source: even counts by count / 2 forward, odd ones by (count + 1) / 2 back. Never twice in a row. */
	seek: 3,
});

export const patchHead = Object.freeze({
	/** `DAP1`; the digit is the format version. */
	magic: 0x31504144,
	/** u32 each. */
	sourceBytesOffset: 4,
	resultBytesOffset: 8,
	/** 32 bytes each. */
	sourceSha256Offset: 12,
	resultSha256Offset: 44,
	byteLength: 76,
});

export const windowBytes = 2048;
export const minMatch = 3;
export const maxMatch = 34;
/** Maximum byte count of an operation. */
export const maxCount = 2 ** 26 - 1;
