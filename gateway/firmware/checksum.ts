/**
 * The checksum of a firmware image: all bytes of its segments, one on the other by exclusive or. Four at a time, since byte
 * by byte it would cost as much as all else that an upload does.
 */

/** @param start the seed, or the checksum of the bytes before these @returns 0 to 255 */
export function addToChecksum(start: number, bytes: Uint8Array): number {
	const words = wordsOf(bytes);
	let folded = 0;
	// By index: an iterator costs several times as much here.
	for (let index = 0; index < words.length; index++) folded ^= words[index] ?? 0;
	folded ^= folded >>> 16;
	let checksum = start ^ ((folded ^ (folded >>> 8)) & 0xff);
	const head = words.length > 0 ? words.byteOffset - bytes.byteOffset : 0;
	for (const byte of bytes.subarray(0, head)) checksum ^= byte;
	for (const byte of bytes.subarray(head + words.byteLength)) checksum ^= byte;
	return checksum;
}

/** Those of the bytes that lie in whole, aligned words. */
function wordsOf({ buffer, byteOffset, length }: Uint8Array): Int32Array {
	const head = -byteOffset & 3;
	if (length < head + 4) return new Int32Array(0);
	return new Int32Array(buffer, byteOffset + head, (length - head) >> 2);
}
