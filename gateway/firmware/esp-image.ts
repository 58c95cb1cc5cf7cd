/**
 * What a firmware image says about itself, found out while it streams by: which chip, model and version it is for and
 * whether it is whole. Without this check a merged flash image, half a file or another board's firmware would be sent
 * to every device, and each would find out for itself, one download later.
 *
 * It follows what the boot loader verifies (ESP-IDF's esp_image_format.c), and names what is uploaded by mistake.
 */

import { createHash } from "node:crypto";
import { appDescriptor, headBytes, imageLayout } from "../../device/protocol/image.js";
import { ImageScanner } from "../../device/protocol/image-scanner.js";
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
 * Checks one image in pieces of any size, with memory that does not grow with it. Bytes behind the image's own end (a
 * signature, padding to a sector) may follow: they count for the digest of the file, and for nothing else.
 */
export class ImageParser {
	readonly #hash = createHash("sha256");
	readonly #scanner = new ImageScanner({ verifiesChecksum: true });
	readonly #steps = this.#parse();
	#unread: Uint8Array = new Uint8Array(0);
	#offset = 0;
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
		// What is refused, or follows the image, is read no further, but counts for the digest.
		if (this.#unread.length > 0) this.#hash.update(this.#unread);
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
		return new ImageError(this.#scanner.describeCut(this.#offset));
	}

	/** SHA-256 of all bytes, an image or not, in hex: a second pass over a large image would be felt. */
	digest(): string {
		return this.#hash.copy().digest("hex");
	}

	*#parse(): Step<void> {
		const head = Buffer.alloc(headBytes);
		head.set(yield* this.#take(1));
		if (head[0] !== imageLayout.magic) yield* this.#refuseFormat(head.readUInt8());
		this.#scan(head.subarray(0, 1));
		yield* this.#scanInto(head, 1, imageLayout.headerBytes);
		const chip = readChip(head);
		yield* this.#scanInto(head, imageLayout.headerBytes, appDescriptor.offset);
		const firstBytes = head.readUInt32LE(imageLayout.headerBytes + imageLayout.segmentLengthOffset);
		yield* this.#scanInto(head, appDescriptor.offset, Math.min(headBytes, appDescriptor.offset + firstBytes));
		if (head.readUInt32LE(appDescriptor.offset) !== appDescriptor.magic)
			yield* this.#refuseDescriptor(head.readUInt8(appDescriptor.offset));
		const description = readDescriptors(head);
		yield* this.#scanContent();
		const sha256 = this.#hash.copy().digest();
		if (this.#scanner.hasDigest && !sha256.equals(yield* this.#take(imageLayout.digestBytes)))
			throw new ImageError("The image is damaged: its SHA-256 does not match its content.");
		this.#info = { chip, ...description };
	}

	/** @param first the file's first byte, which is not an image's */
	*#refuseFormat(first: number): Step<never> {
		const hex = first.toString(16).padStart(2, "0");
		const sentence = `This is no firmware image: it begins with 0x${hex}, not with 0xe9.`;
		return yield* this.#refuse(sentence, otherFormats.get(first));
	}

	/** @param first byte of what is there in the place of ESP-IDF's application descriptor */
	*#refuseDescriptor(first: number): Step<never> {
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

	/** The rest of the image up to its checksum; where that is shows segment by segment. */
	*#scanContent(): Step<void> {
		for (;;) {
			const end = this.#scanner.contentBytes ?? this.#scanner.minimumBytes;
			if (this.#offset >= end) return;
			yield* this.#read(end - this.#offset, (part) => this.#scan(part));
		}
	}

	/** Reads the image's bytes from `start` to before `end` to the same place in `head`. */
	*#scanInto(head: Buffer, start: number, end: number): Step<void> {
		yield* this.#read(end - start, (part, at) => {
			this.#scan(part);
			head.set(part, start + at);
		});
	}

	#scan(part: Uint8Array): void {
		const problem = this.#scanner.write(part);
		if (problem !== undefined) throw new ImageError(problem);
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
