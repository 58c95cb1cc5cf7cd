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

const advice = "Upload the application alone (from a Moddable build: xs_esp32.bin).";
const bootLoaderDescriptorMagic = 0x50;

/** A file with this magic at that place is something else; each character is a byte. */
type Sign = { readonly offset: number; readonly magic: string; readonly what: string };

const mergedFlash = `a merged flash image, with boot loader and partition table, for flashing by cable. ${advice}`;
const partitionTable: Sign = { offset: 0x8000, magic: "\xaa\x50", what: mergedFlash };
/** What is uploaded by mistake, by its first byte. */
const otherFormats: ReadonlyMap<number, Sign> = new Map([
	[0x7f, { offset: 1, magic: "ELF", what: "an ELF file, no firmware image." }],
	[0x50, { offset: 1, magic: "K\x03\x04", what: "a ZIP archive, no firmware image." }],
	[0x1f, { offset: 1, magic: "\x8b", what: "a gzip file, no firmware image." }],
	[0x55, { offset: 1, magic: "F2\n", what: "a UF2 file, no firmware image." }],
	[0xaa, { offset: 1, magic: "\x50", what: "a partition table, no firmware image." }],
	[0x3a, { offset: 1, magic: "10", what: "an Intel HEX file, no firmware image." }],
	// On an ESP32 a merged flash image is empty up to the boot loader.
	[0xff, { offset: 0x1000, magic: "\xe9", what: mergedFlash }],
]);

/** A routine that pauses where it needs bytes that have not come yet. */
type Step<T> = Generator<void, T, void>;

/**
 * Checks one image in pieces of any size, with memory that does not grow with it.
 *
 * Secure Boot signatures are not understood: bytes after the image's own end are refused.
 */
export class ImageParser {
	readonly #hash = createHash("sha256");
	readonly #steps = this.#parse();
	#unread: Uint8Array = new Uint8Array(0);
	#offset = 0;
	#checksum: number = imageLayout.checksumSeed;
	/** What is wrong already, while the bytes that follow may still give it a better name. */
	#suspicion: ImageError | undefined;
	#info: ImageInfo | undefined;
	#error: ImageError | undefined;

	/**
	 * Takes the next bytes; they are not kept.
	 *
	 * @throws {ImageError} as soon as they show that this is no image for these devices, and from then on
	 */
	write(chunk: Uint8Array): void {
		const error = this.inspect(chunk);
		if (error) throw error;
	}

	/** As `write`, but returns the error: for who takes the bytes whatever they are. */
	inspect(chunk: Uint8Array): ImageError | undefined {
		this.#unread = chunk;
		try {
			if (!this.#error) this.#steps.next();
		} catch (error) {
			if (!(error instanceof ImageError)) throw error;
			this.#error = error;
		}
		// Nobody reads the rest of what was refused, but it counts for the digest.
		if (this.#error) this.#hash.update(this.#unread);
		return this.#error;
	}

	/**
	 * Says that no more bytes come.
	 *
	 * @throws {ImageError} where the image is not whole
	 */
	end(): ImageInfo {
		if (this.verdict instanceof ImageError) throw this.verdict;
		return this.verdict;
	}

	/** What the image says of itself, or why it is none, if no more bytes come. */
	get verdict(): ImageInfo | ImageError {
		const verdict = this.#error ?? this.#suspicion ?? this.#info;
		if (verdict) return verdict;
		if (this.#offset === 0) return new ImageError("The file is empty.");
		return new ImageError(`The image is cut off: the file ends after ${this.#offset} bytes.`);
	}

	/** SHA-256 of all bytes, an image or not, in hex: a second pass over a large image would be felt. */
	digest(): string {
		return this.#hash.copy().digest("hex");
	}

	*#parse(): Step<never> {
		const head = Buffer.alloc(headBytes);
		head.set(yield* this.#take(1));
		if (head[0] !== imageLayout.magic) yield* this.#refuseFormat(head.readUInt8());
		head.set(yield* this.#take(imageLayout.headerBytes - 1), 1);
		const segments = head.readUInt8(imageLayout.segmentCountOffset);
		const most = imageLayout.mostSegments;
		if (segments === 0 || segments > most)
			throw new ImageError(`The image names ${segments} segments; 1 to ${most} are possible.`);
		const chip = readChip(head);

		const firstLength = yield* this.#segmentLength(1);
		const descriptors = yield* this.#take(Math.min(firstLength, headBytes - appDescriptor.offset));
		head.set(descriptors, appDescriptor.offset);
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
		const sha256 = this.#hash.copy().digest();
		const hasDigest = head[imageLayout.hasDigestOffset] === 1;
		if (hasDigest && !sha256.equals(yield* this.#take(imageLayout.digestBytes)))
			throw new ImageError("The image is damaged: its SHA-256 does not match its content.");
		const size = this.#offset;
		this.#info = { chip, ...description };
		yield* this.#take(1);
		throw new ImageError(`The image ends at ${size} bytes, but more bytes follow. ${advice}`);
	}

	/** @param first the file's first byte, which is not an image's */
	*#refuseFormat(first: number): Step<never> {
		const hex = first.toString(16).padStart(2, "0");
		const sentence = `This is no firmware image: it begins with 0x${hex}, not with 0xe9.`;
		return yield* this.#refuse(sentence, otherFormats.get(first));
	}

	/** @param first byte of what is there in the place of ESP-IDF's application descriptor */
	*#refuseDescriptor(first: number | undefined): Step<never> {
		const isBootLoader = first === bootLoaderDescriptorMagic;
		const missing = "The image has no ESP-IDF application descriptor (0xabcd5432 at 0x20).";
		const sentence = isBootLoader ? "This is a boot loader, not an application." : missing;
		return yield* this.#refuse(`${sentence} ${advice}`, partitionTable);
	}

	/** Refuses with this sentence, but for a file that shows what it is instead. */
	*#refuse(sentence: string, sign: Sign | undefined): Step<never> {
		this.#suspicion = new ImageError(sentence);
		if (!sign) throw this.#suspicion;
		yield* this.#read(sign.offset - this.#offset, () => {});
		const found = yield* this.#take(sign.magic.length);
		const hasSign = found.toString("latin1") === sign.magic;
		throw hasSign ? new ImageError(`This is ${sign.what}`) : this.#suspicion;
	}

	*#segmentLength(segment: number): Step<number> {
		const header = yield* this.#take(imageLayout.segmentHeaderBytes);
		const length = header.readUInt32LE(imageLayout.segmentLengthOffset);
		if (length % 4 === 0 && length < imageLayout.segmentLimit) return length;
		throw new ImageError(`Segment ${segment} of the image has an impossible length, ${length} bytes.`);
	}

	*#segmentData(length: number): Step<void> {
		yield* this.#read(length, (part) => {
			this.#checksum = addToChecksum(this.#checksum, part);
		});
	}

	*#take(length: number): Step<Buffer> {
		const bytes = Buffer.alloc(length);
		yield* this.#read(length, (part, at) => bytes.set(part, at));
		return bytes;
	}

	/** Hands on the next `length` bytes, in the pieces in which they come. */
	*#read(length: number, take: (part: Uint8Array, at: number) => void): Step<void> {
		for (let at = 0; at < length; ) {
			while (this.#unread.length === 0) yield;
			const part = this.#unread.subarray(0, length - at);
			this.#unread = this.#unread.subarray(part.length);
			this.#offset += part.length;
			this.#hash.update(part);
			take(part, at);
			at += part.length;
		}
	}
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
