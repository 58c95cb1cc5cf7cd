/**
 * A patch makes a firmware image from the one that runs. All numbers are little-endian.
 *
 * A head (`patchHead`), then one stream, compressed: a byte of flags for each eight items, lowest bit first. 0: one
 * byte as it is. 1: two bytes, a number of 16 bits; its low 11 are the distance back less 1, its high 5 the length less
 * `shortestMatch`.
 *
 * The stream is a sequence of operations, each a number (7 bits a byte, lowest first, the high bit says that more
 * follow, at most 4 bytes): its low 2 bits are the kind, the others a count of bytes, above 0. It follows bsdiff:
 * code that has moved differs in few bytes, which are alike.
 */

export const patchOperations = Object.freeze({
	/** Takes bytes of the source from the present place on. */
	copy: 0,
	/** The same, and adds to each, modulo 256, one of the bytes that follow. */
	add: 1,
	/** Takes the bytes that follow. */
	insert: 2,
	/** Moves the place in the source: even counts / 2 forward, odd ones (count + 1) / 2 back. Never twice in a row. */
	seek: 3,
});

export const patchHead = Object.freeze({
	/** `DAP1`, the format's version is its digit. */
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
export const shortestMatch = 3;
export const longestMatch = 34;
/** Of an operation's number, before the kind is added. */
export const mostCount = 2 ** 26 - 1;
