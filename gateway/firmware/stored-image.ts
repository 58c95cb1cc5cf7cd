/** A firmware file in memory: devices fetch it block by block, and each block's digest is computed once for all of them. */

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import type { Disk } from "../whole-file.js";
import { ImageError, type ImageInfo, parseImage } from "./image.js";

/** Only parts that begin and end on such a boundary are remembered, so that odd ones cannot fill the memory. */
const alignment = 4096;
/** The longest part that has a digest; devices ask for 16 KiB. To hash longer ones for any client would delay all others. */
const longestPartBytes = 64 * 1024;
/** Read and hashed at once: other requests are answered in between. */
const readBytes = 1 << 20;

export class StoredImage {
	readonly bytes: Buffer;
	readonly modifiedAt: Date;
	/** In hex. */
	readonly sha256: string;
	/** What the image says of itself, or why it is none. */
	readonly info: ImageInfo | ImageError;
	readonly #whole: Buffer;
	/** Of parts, by "first-last". */
	readonly #digests = new Map<string, Buffer>();

	private constructor(bytes: Buffer, whole: Buffer, modifiedAt: Date) {
		this.bytes = bytes;
		this.modifiedAt = modifiedAt;
		this.#whole = whole;
		this.sha256 = whole.toString("hex");
		this.info = tryParse(bytes);
	}

	/** @throws {NodeJS.ErrnoException} ENOENT where the file is missing */
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

	/**
	 * The SHA-256 of a part.
	 *
	 * @param first its first byte
	 * @param last its last byte, included
	 * @returns undefined where the part is more than 64 KiB and not the whole
	 */
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
