/**
 * What a firmware image says about itself, found out while it streams by: which chip, model and version it is for and
 * whether it is whole. Without this check a merged flash image, half a file or another board's firmware would be sent
 * to every device, and each would find out for itself, one download later.
 *
 * It follows what the boot loader verifies (ESP-IDF's esp_image_format.c), and names what is uploaded by mistake.
 */

import { createHash } from "node:crypto";
import { appDescriptor, headBytes, imageLayout } from "../../device/protocol/image.js";
import { ImageError, type ImageInfo, readChip, readDescriptors } from "./image-head.js";

/** First bytes of what is uploaded by mistake. */
const otherFormats: readonly (readonly [string, string])[] = [
	["\x7fELF", "an ELF file"],
	["PK\x03\x04", "a ZIP archive"],
	["\x1f\x8b", "a gzip file"],
	["UF2\n", "a UF2 file"],
	["\xaa\x50", "a partition table"],
	[":10", "an Intel HEX file"],
];

const bootLoaderDescriptorMagic = 0x50;
const bootLoaderOffsetOnEsp32 = 0x1000;
const partitionTableOffset = 0x8000;
const advice = "Upload the application alone (from a Moddable build: xs_esp32.bin).";

/** A routine that pauses where it needs bytes that have not come yet. */
type Step<T> = Generator<void, T, void>;

/**
 * Checks one image in pieces of any size, with memory that does not grow with it.
 *
 * Secure Boot signatures are not understood: bytes after the image's own end are refused.
 */
export class ImageParser {
	readonly #hash = createHash("sha256");
	readonly #steps: Step<never>;
	#unread: Uint8Array = new Uint8Array(0);
	#offset = 0;
	#checksum: number = imageLayout.checksumSeed;
	/** What is wrong already, while the bytes that follow may still give it a better name. */
	#suspicion: ImageError | undefined;
	#info: ImageInfo | undefined;
	#error: unknown;

	constructor() {
		this.#steps = this.#parse();
	}

	/**
	 * Takes the next bytes; they are not kept.
	 *
	 * @throws {ImageError} as soon as they show that this is no image for these devices, and from then on
	 */
	write(chunk: Uint8Array): void {
		if (this.#error) throw this.#error;
		this.#unread = chunk;
		try {
			this.#steps.next();
		} catch (error) {
			this.#error = error;
			throw error;
		}
	}

	/**
	 * Says that no more bytes come.
	 *
	 * @throws {ImageError} where the image is not whole
	 */
	end(): ImageInfo {
		if (this.#error) throw this.#error;
		if (this.#suspicion) throw this.#suspicion;
		if (this.#info) return this.#info;
		if (this.#offset === 0) throw new ImageError("The file is empty.");
		throw new ImageError(`The image is cut off: the file ends after ${this.#offset} bytes.`);
	}

	/** SHA-256 of all bytes, in hex: the parser hashes them anyway, and a second pass over a large image would be felt. */
	digest(): string {
		return this.#hash.copy().digest("hex");
	}

	*#parse(): Step<never> {
		const head = Buffer.alloc(headBytes);
		yield* this.#fill(head.subarray(0, 1));
		if (head[0] !== imageLayout.magic) yield* this.#refuseFormat(head.readUInt8());
		yield* this.#fill(head.subarray(1, imageLayout.headerBytes));
		const segments = head.readUInt8(imageLayout.segmentCountOffset);
		if (segments === 0 || segments > imageLayout.mostSegments)
			throw new ImageError(
				`The image names ${segments} segments; 1 to ${imageLayout.mostSegments} are possible.`,
			);
		const chip = readChip(head);

		const firstLength = yield* this.#segmentLength(1);
		const descriptors = head.subarray(appDescriptor.offset).subarray(0, firstLength);
		yield* this.#fill(descriptors);
		if (head.readUInt32LE(appDescriptor.offset) !== appDescriptor.magic)
			yield* this.#refuseDescriptor(descriptors[0]);
		const description = readDescriptors(head);
		this.#checksum = addToChecksum(this.#checksum, descriptors);
		yield* this.#segmentData(firstLength - descriptors.length);
		for (let segment = 2; segment <= segments; segment++)
			yield* this.#segmentData(yield* this.#segmentLength(segment));

		const padding = yield* this.#take(imageLayout.paddedTo - (this.#offset % imageLayout.paddedTo));
		if (padding.at(-1) !== this.#checksum)
			throw new ImageError("The image is damaged: its checksum does not match its content.");
		if (head[imageLayout.hasDigestOffset] === 1) yield* this.#checkDigest();
		const size = this.#offset;
		this.#info = { chip, ...description };
		yield* this.#some(1);
		throw new ImageError(`The image ends at ${size} bytes, but more bytes follow. ${advice}`);
	}

	/** @param first the file's first byte, which is not an image's */
	*#refuseFormat(first: number): Step<never> {
		this.#suspicion = new ImageError(
			`This is no firmware image: it begins with 0x${first.toString(16).padStart(2, "0")}, not with 0xe9.`,
		);
		if (first === 0xff) {
			// On an ESP32 a merged flash image is empty up to the boot loader.
			yield* this.#skipTo(bootLoaderOffsetOnEsp32);
			const isMerged = (yield* this.#take(1))[0] === imageLayout.magic;
			throw isMerged ? mergedFlash() : this.#suspicion;
		}
		const start = String.fromCharCode(first) + (yield* this.#take(3)).toString("latin1");
		const format = otherFormats.find(([magic]) => start.startsWith(magic));
		throw format ? new ImageError(`This is ${format[1]}, no firmware image.`) : this.#suspicion;
	}

	/** @param first byte of what is there in the place of ESP-IDF's application descriptor */
	*#refuseDescriptor(first: number | undefined): Step<never> {
		this.#suspicion = new ImageError(
			first === bootLoaderDescriptorMagic
				? `This is a boot loader, not an application. ${advice}`
				: `The image has no ESP-IDF application descriptor (0xabcd5432 at 0x20). ${advice}`,
		);
		yield* this.#skipTo(partitionTableOffset);
		const isMerged = (yield* this.#take(2)).readUInt16BE() === 0xaa50;
		throw isMerged ? mergedFlash() : this.#suspicion;
	}

	*#segmentLength(segment: number): Step<number> {
		const header = yield* this.#take(imageLayout.segmentHeaderBytes);
		const length = header.readUInt32LE(imageLayout.segmentLengthOffset);
		if (length % 4 === 0 && length < imageLayout.segmentLimit) return length;
		throw new ImageError(`Segment ${segment} of the image has an impossible length, ${length} bytes.`);
	}

	*#segmentData(length: number): Step<void> {
		for (let left = length; left > 0; ) {
			const part = yield* this.#some(left);
			this.#checksum = addToChecksum(this.#checksum, part);
			left -= part.length;
		}
	}

	*#checkDigest(): Step<void> {
		const expected = this.#hash.copy().digest();
		if ((yield* this.#take(imageLayout.digestBytes)).equals(expected)) return;
		throw new ImageError("The image is damaged: its SHA-256 does not match its content.");
	}

	*#take(length: number): Step<Buffer> {
		const bytes = Buffer.alloc(length);
		yield* this.#fill(bytes);
		return bytes;
	}

	*#fill(bytes: Buffer): Step<void> {
		for (let filled = 0; filled < bytes.length; ) {
			const part = yield* this.#some(bytes.length - filled);
			bytes.set(part, filled);
			filled += part.length;
		}
	}

	*#skipTo(offset: number): Step<void> {
		while (this.#offset < offset) yield* this.#some(offset - this.#offset);
	}

	/** The next bytes as they came, at least 1 and at most `most`. */
	*#some(most: number): Step<Uint8Array> {
		while (this.#unread.length === 0) yield;
		const part = this.#unread.subarray(0, most);
		this.#unread = this.#unread.subarray(part.length);
		this.#offset += part.length;
		this.#hash.update(part);
		return part;
	}
}

function mergedFlash(): ImageError {
	return new ImageError(
		`This is a merged flash image, with boot loader and partition table, for flashing by cable. ${advice}`,
	);
}

/**
 * All bytes, one on the other by exclusive or. Four at a time: byte by byte it would cost as much as the SHA-256 does.
 *
 * @param start the seed, or the checksum of the bytes before these
 * @returns 0 to 255
 */
export function addToChecksum(start: number, bytes: Uint8Array): number {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
	const whole = bytes.length & ~3;
	let folded = 0;
	for (let at = 0; at < whole; at += 4) folded ^= view.getInt32(at);
	folded ^= folded >>> 16;
	let checksum = start ^ ((folded ^ (folded >>> 8)) & 0xff);
	for (const byte of bytes.subarray(whole)) checksum ^= byte;
	return checksum;
}
