/**
 * Streaming parser of a firmware image's structure. Finds the end of the image like ESP-IDF's esp_image_verify
 * (components/bootloader_support/src/esp_image_format.c), since a file or slot may contain more, such as a signature.
 */

import { imageLayout } from "./image.js";

export interface ImageScannerOptions {
	/** Default: false, since ESP-IDF verifies the checksum on a board. */
	readonly verifiesChecksum?: boolean;
}

type Piece = "header" | "segment header" | "segment" | "padding" | "trailer";

/** Does not check magic, chip, descriptors and SHA-256. */
export class ImageScanner {
	readonly #verifiesChecksum: boolean;
	#piece: Piece = "header";
	#pieceStart = 0;
	#pieceEnd: number = imageLayout.headerBytes;
	#offset = 0;
	#segmentCount = 0;
	/** Number of the current segment, from 1. */
	#segment = 0;
	#segmentBytes = 0;
	#hasDigest = false;
	#checksum: number = imageLayout.checksumSeed;
	#minimumBytes: number = imageLayout.headerBytes + imageLayout.segmentHeaderBytes;
	#contentBytes: number | undefined;
	#problem: string | undefined;

	constructor({ verifiesChecksum = false }: ImageScannerOptions = {}) {
		this.#verifiesChecksum = verifiesChecksum;
	}

	get hasDigest(): boolean {
		return this.#hasDigest;
	}

	/** Bytes up to and including the checksum; undefined until the last segment header was read. */
	get contentBytes(): number | undefined {
		return this.#contentBytes;
	}

	/** Minimum size of the image with its SHA-256; exact once `contentBytes` is known. */
	get minimumBytes(): number {
		return this.#minimumBytes;
	}

	/** @returns the error for a file shorter than `minimumBytes` */
	describeCut(fileBytes: number): string {
		return `The image is truncated: the file has ${fileBytes} bytes, its segments need ${this.#minimumBytes}.`;
	}

	/** @returns a sentence that explains why this is no valid image, repeated for later bytes; undefined: no problem so far */
	write(bytes: Uint8Array): string | undefined {
		for (let at = 0; at < bytes.byteLength && this.#problem === undefined; ) {
			const end = Math.min(bytes.byteLength, at + this.#pieceEnd - this.#offset);
			this.#scan(bytes, at, end);
			this.#offset += end - at;
			at = end;
			if (this.#offset === this.#pieceEnd) this.#endPiece();
		}
		return this.#problem;
	}

	#scan(bytes: Uint8Array, start: number, end: number): void {
		const toPiece = this.#offset - this.#pieceStart - start;
		switch (this.#piece) {
			case "header":
				for (let at = start; at < end; at++) this.#readHeader(at + toPiece, bytes[at] ?? 0);
				return;
			case "segment header":
				for (let at = start; at < end; at++) {
					const place = at + toPiece - imageLayout.segmentLengthOffset;
					// A shift would make lengths from 2 GiB negative.
					if (place >= 0) this.#segmentBytes += (bytes[at] ?? 0) * 256 ** place;
				}
				return;
			case "segment":
				if (this.#verifiesChecksum)
					this.#checksum = addToChecksum(this.#checksum, bytes.subarray(start, end));
				return;
			case "padding":
				if (this.#verifiesChecksum && toPiece + end === this.#pieceEnd - this.#pieceStart)
					this.#verifyChecksum(bytes[end - 1]);
		}
	}

	#readHeader(offset: number, byte: number): void {
		if (offset === imageLayout.segmentCountOffset) this.#segmentCount = byte;
		if (offset === imageLayout.hasDigestOffset) this.#hasDigest = byte !== 0;
	}

	#endPiece(): void {
		const { segmentHeaderBytes, maxSegments, segmentLimit, paddedTo } = imageLayout;
		switch (this.#piece) {
			case "header":
				if (this.#segmentCount >= 1 && this.#segmentCount <= maxSegments)
					return this.#beginPiece("segment header", segmentHeaderBytes);
				this.#problem = `The image has ${this.#segmentCount} segments; 1 to ${maxSegments} are allowed.`;
				return;
			case "segment header":
				this.#segment += 1;
				if (this.#segmentBytes % 4 === 0 && this.#segmentBytes < segmentLimit) return this.#beginSegment();
				this.#problem = `Segment ${this.#segment} of the image has an invalid length, ${this.#segmentBytes} bytes.`;
				return;
			case "segment":
				if (this.#segment === this.#segmentCount)
					return this.#beginPiece("padding", paddedTo - (this.#offset % paddedTo));
				this.#segmentBytes = 0;
				return this.#beginPiece("segment header", segmentHeaderBytes);
			case "padding":
				return this.#beginPiece("trailer", Number.POSITIVE_INFINITY);
		}
	}

	#beginPiece(piece: Piece, byteLength: number): void {
		this.#piece = piece;
		this.#pieceStart = this.#offset;
		this.#pieceEnd = this.#offset + byteLength;
	}

	#beginSegment(): void {
		const { segmentHeaderBytes, paddedTo, digestBytes } = imageLayout;
		this.#beginPiece("segment", this.#segmentBytes);
		const end = this.#pieceEnd;
		if (this.#segment < this.#segmentCount) {
			this.#minimumBytes = end + segmentHeaderBytes;
			return;
		}
		const contentBytes = end + paddedTo - (end % paddedTo);
		this.#contentBytes = contentBytes;
		this.#minimumBytes = contentBytes + (this.#hasDigest ? digestBytes : 0);
	}

	#verifyChecksum(found: number | undefined): void {
		if (found !== this.#checksum)
			this.#problem = "The image is damaged: its checksum does not match its content.";
	}
}

/**
 * XORs all bytes, four at a time: byte by byte would take as long as the SHA-256.
 * @param start the seed, or the checksum so far @returns 0 to 255
 */
export function addToChecksum(start: number, bytes: Uint8Array): number {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const whole = bytes.byteLength & ~3;
	let folded = 0;
	for (let at = 0; at < whole; at += 4) folded ^= view.getInt32(at);
	folded ^= folded >>> 16;
	let checksum = start ^ ((folded ^ (folded >>> 8)) & 0xff);
	for (let at = whole; at < bytes.byteLength; at++) checksum ^= bytes[at] ?? 0;
	return checksum;
}
