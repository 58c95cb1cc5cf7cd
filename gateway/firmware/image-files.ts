/** Firmware files in memory, whole, with what is to be known of them. */

import { constants } from "node:fs";
import type { Disk } from "../whole-file.js";
import { ImageParser } from "./esp-image.js";
import { createFileCache, type LoadFile } from "./file-cache.js";
import type { ImageError, ImageInfo } from "./image-head.js";
import { partDigests } from "./part-digests.js";

export interface ImageFile {
	readonly bytes: Buffer;
	/** SHA-256 of a part, by its first and last byte, both included; undefined where the part is more than 64 KiB. */
	readonly digestOf: (first: number, last: number) => Buffer | undefined;
	/** In hex. */
	readonly sha256: string;
	readonly modifiedAt: Date;
	/** What the image says of itself, or why it is none. */
	readonly info: ImageInfo | ImageError;
}

const blockSize = 1 << 20;

/** @param maxBytes how much is kept in memory; the file used last is kept whatever its size */
export function createImageFiles(disk: Disk, maxBytes = 64 << 20): LoadFile<ImageFile> {
	return createFileCache(disk, (path) => readImage(disk, path), maxBytes);
}

/** In blocks, so that hashing and checking do not hold up everybody else. */
async function readImage(disk: Disk, path: string): Promise<ImageFile> {
	const handle = await disk.open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
	try {
		const { size, mtime: modifiedAt } = await handle.stat();
		const bytes = Buffer.allocUnsafeSlow(size);
		const parser = new ImageParser();
		for (let offset = 0; offset < size; ) {
			const { bytesRead } = await handle.read(bytes, offset, Math.min(blockSize, size - offset), offset);
			if (bytesRead === 0) throw new Error(`${path} was cut while it was read`);
			parser.inspect(bytes.subarray(offset, offset + bytesRead));
			offset += bytesRead;
		}
		const sha256 = parser.digest();
		const digestOf = partDigests(bytes, Buffer.from(sha256, "hex"));
		return { bytes, digestOf, sha256, modifiedAt, info: parser.verdict };
	} finally {
		await handle.close();
	}
}
