/**
 * What files hold, read once for as long as they do not change. A hundred devices that fetch one image in blocks of 16 KiB
 * then cost one read of the disk, and a file that is replaced meanwhile is never served half old and half new.
 */

import { type Disk, stateOf } from "../whole-file.js";

/** Gives what a file holds as it is now. @throws {NodeJS.ErrnoException} ENOENT where it is missing */
export type LoadFile<T> = (path: string) => Promise<T>;

/**
 * @param read makes of a file what is kept of it; where it fails, the next who asks has it read again
 * @param maxBytes how much is kept, by the files' size; the file used last is kept whatever its size
 */
export function createFileCache<T>(disk: Disk, read: LoadFile<T>, maxBytes: number): LoadFile<T> {
	/** By path and state of the file; the one used last is last. */
	const entries = new Map<string, { readonly size: number; readonly content: Promise<T> }>();

	const evict = () => {
		let total = 0;
		for (const [key, { size }] of [...entries].reverse()) {
			if (total > 0 && total + size > maxBytes) entries.delete(key);
			total += size;
		}
	};
	return async (path) => {
		const { size, state } = await stateOf(disk, path);
		const key = `${path}\0${state}`;
		const entry = entries.get(key) ?? { size, content: read(path) };
		entry.content.catch(() => entries.delete(key));
		entries.delete(key);
		entries.set(key, entry);
		evict();
		return entry.content;
	};
}
