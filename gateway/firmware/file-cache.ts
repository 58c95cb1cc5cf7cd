/**
 * What files hold, read once for as long as they do not change. A hundred devices that fetch one image in blocks of 16 KiB
 * then cost one read of the disk, and a file that is replaced meanwhile is never served half old and half new.
 */

import type { Disk } from "../whole-file.js";

export interface FileCacheOptions<T> {
	readonly disk: Disk;
	/** Makes of a file what is kept of it. */
	readonly read: (disk: Disk, path: string) => Promise<T>;
	/** How much is kept, by the files' size; the file used last is kept whatever its size. */
	readonly maxBytes: number;
}

export class FileCache<T> {
	readonly #options: FileCacheOptions<T>;
	/** By path and state of the file; the one used last is last. */
	readonly #entries = new Map<string, { readonly size: number; readonly content: Promise<T> }>();

	constructor(options: FileCacheOptions<T>) {
		this.#options = options;
	}

	/**
	 * The file as it is now.
	 *
	 * @throws {NodeJS.ErrnoException} ENOENT where it is missing, and whatever `read` throws: the next one reads it again
	 */
	async load(path: string): Promise<T> {
		const { disk, read } = this.#options;
		const { ino, size, mtimeNs, ctimeNs } = await disk.stat(path, { bigint: true });
		const key = [path, ino, size, mtimeNs, ctimeNs].join("\0");
		const entry = this.#entries.get(key) ?? { size: Number(size), content: read(disk, path) };
		entry.content.catch(() => this.#entries.delete(key));
		this.#entries.delete(key);
		this.#entries.set(key, entry);
		this.#evict();
		return entry.content;
	}

	#evict(): void {
		let total = 0;
		for (const [key, { size }] of [...this.#entries].reverse()) {
			if (total > 0 && total + size > this.#options.maxBytes) this.#entries.delete(key);
			total += size;
		}
	}
}
