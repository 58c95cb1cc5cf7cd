/** SHA-256 of the parts of a file in memory. Devices ask all for the same blocks: each block's is made once. */

import { createHash } from "node:crypto";

/** Only parts that begin and end on such a boundary are remembered, so that odd ones cannot fill the memory. */
const alignment = 4096;
/** The longest part that has one; devices ask for 16 KiB. To hash longer ones for whoever asks would hold up all others. */
const maxBytes = 64 * 1024;

/**
 * @param whole the SHA-256 of all bytes
 * @returns gives the SHA-256 of the bytes from `first` to `last`, both included; undefined where they are more than 64 KiB
 */
export function partDigests(
	bytes: Uint8Array,
	whole: Buffer,
): (first: number, last: number) => Buffer | undefined {
	/** By "first-last". */
	const digests = new Map<string, Buffer>();
	return (first, last) => {
		const size = last + 1 - first;
		if (size === bytes.length) return whole;
		if (size > maxBytes) return undefined;
		const key = `${first}-${last}`;
		const known = digests.get(key);
		if (known) return known;
		const end = last + 1;
		const digest = createHash("sha256").update(bytes.subarray(first, end)).digest();
		const isBlock = first % alignment === 0 && (end % alignment === 0 || end === bytes.length);
		if (isBlock && digests.size < bytes.length / alignment) digests.set(key, digest);
		return digest;
	};
}
