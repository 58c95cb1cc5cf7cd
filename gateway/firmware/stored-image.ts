/** A firmware file in memory, with the digests of its blocks, which are computed once for all devices. */

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import type { Disk } from "../atomic-file.js";
import { ImageError, type ImageInfo, parseImage } from "./image.js";

/** Only digests of aligned parts are cached, so that odd ranges cannot fill the memory. */
const alignment = 4096;
/** Devices ask for 16 KiB; hashing longer parts would delay other clients. */
const longestPartBytes = 64 * 1024;
/** Read and hashed in one step; other requests are answered in between. */
const readBytes = 1 << 20;

export class StoredImage {
	readonly bytes: Buffer;
	readonly modifiedAt: Date;
	/** In hex. */
	readonly sha256: string;
	/** What the image's descriptors say, or why it is invalid. */
	readonly info: ImageInfo | ImageError;
	readonly #whole: Buffer;
	/** By "first-last". */
	readonly #digests = new Map<string, Buffer>();

	private constructor(bytes: Buffer, whole: Buffer, modifiedAt: Date) {
		this.bytes = bytes;
		this.modifiedAt = modifiedAt;
		this.#whole = whole;
		this.sha256 = whole.toString("hex");
		this.info = tryParse(bytes);
	}

	/** @throws {NodeJS.ErrnoException} ENOENT if the file is missing */
	static async read(disk: Disk, path: string): Promise<StoredImage> {
		const handle = await disk.open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
		try {
			const { size, mtime } = await handle.stat();
			const bytes = Buffer.allocUnsafeSlow(size);
			const hash = createHash("sha256");
			for (let offset = 0; offset < size; ) {
				const { bytesRead } = await handle.read(bytes, offset, Math.min(readBytes, size - offset), offset);
				if (bytesRead === 0) throw new Error(`${path} was cut while it was read`);
				hash.update(bytes.subarray(offset, offset + bytesRead));
				offset += bytesRead;
			}
			return new StoredImage(bytes, hash.digest(), mtime);
		} finally {
			await handle.close();
		}
	}

	/** @returns SHA-256 of a part, both ends included; undefined if it is longer than 64 KiB and not the whole */
	digestOf(first: number, last: number): Buffer | undefined {
		const end = last + 1;
		const { length } = this.bytes;
		if (end - first === length) return this.#whole;
		if (end - first > longestPartBytes) return undefined;
		const key = `${first}-${last}`;
		const known = this.#digests.get(key);
		if (known) return known;
		const digest = createHash("sha256").update(this.bytes.subarray(first, end)).digest();
		const isBlock = first % alignment === 0 && (end % alignment === 0 || end === length);
		if (isBlock && this.#digests.size < length / alignment) this.#digests.set(key, digest);
		return digest;
	}
}

function tryParse(bytes: Buffer): ImageInfo | ImageError {
	try {
		return parseImage(bytes);
	} catch (error) {
		if (error instanceof ImageError) return error;
		throw error;
	}
}
