/**
 * Firmware files in memory, whole, with their SHA-256. A hundred devices that fetch one image in blocks of 16 KiB then
 * cost one read of the disk, and a file that is replaced meanwhile is never served half old and half new.
 */

import { constants } from "node:fs";
import type { Disk } from "../whole-file.js";
import { ImageParser } from "./esp-image.js";
import type { ImageError, ImageInfo } from "./image-head.js";
import { PartDigests } from "./part-digests.js";

export interface ImageFile {
	readonly bytes: Buffer;
	readonly parts: PartDigests;
	/** In hex. */
	readonly sha256: string;
	readonly modifiedAt: Date;
	/** What the image says of itself, or why it is none. */
	readonly info: ImageInfo | ImageError;
}

export interface ImageFilesOptions {
	readonly disk: Disk;
	/** How much is kept; the file used last is kept whatever its size. Default 64 MiB. */
	readonly maxBytes?: number;
}

interface Entry {
	readonly size: number;
	readonly file: Promise<ImageFile>;
}

const blockSize = 1 << 20;

export class ImageFiles {
	readonly #disk: Disk;
	readonly #maxBytes: number;
	/** By path and state of the file; the one used last is last. */
	readonly #entries = new Map<string, Entry>();

	constructor({ disk, maxBytes = 64 << 20 }: ImageFilesOptions) {
		this.#disk = disk;
		this.#maxBytes = maxBytes;
	}

	/**
	 * The file as it is now.
	 *
	 * @throws {NodeJS.ErrnoException} ENOENT where it is missing
	 */
	async load(path: string): Promise<ImageFile> {
		const { ino, size, mtimeNs } = await this.#disk.stat(path, { bigint: true });
		const key = [path, ino, size, mtimeNs].join("\0");
		const entry = this.#entries.get(key) ?? { size: Number(size), file: readImage(this.#disk, path) };
		entry.file.catch(() => this.#entries.delete(key));
		this.#entries.delete(key);
		this.#entries.set(key, entry);
		this.#evict();
		return entry.file;
	}

	#evict(): void {
		let total = 0;
		for (const [key, { size }] of [...this.#entries].reverse()) {
			if (total > 0 && total + size > this.#maxBytes) this.#entries.delete(key);
			total += size;
		}
	}
}

/** In blocks, so that hashing and checking do not hold up everybody else. */
async function readImage(disk: Disk, path: string): Promise<ImageFile> {
	const handle = await disk.open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
	try {
		const { size, mtime } = await handle.stat();
		const bytes = Buffer.allocUnsafeSlow(size);
		const parser = new ImageParser();
		for (let offset = 0; offset < size; ) {
			const { bytesRead } = await handle.read(bytes, offset, Math.min(blockSize, size - offset), offset);
			if (bytesRead === 0) throw new Error(`${path} was cut while it was read`);
			parser.inspect(bytes.subarray(offset, offset + bytesRead));
			offset += bytesRead;
		}
		const parts = new PartDigests(bytes);
		return { bytes, parts, sha256: parser.digest(), modifiedAt: mtime, info: parser.verdict };
	} finally {
		await handle.close();
	}
}
