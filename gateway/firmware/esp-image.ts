/**
 * What a firmware image says about itself, found out while it streams by: which chip, model and version it is for and
 * whether it is whole. Without this check a merged flash image, half a file or another board's firmware would be sent
 * to every device, and each would find out for itself, one download later.
 *
 * It follows what the boot loader verifies (ESP-IDF's esp_image_format.c), and names what is uploaded by mistake.
 */

import { createHash } from "node:crypto";
import { addToChecksum } from "./checksum.js";
import { ImageError, type ImageInfo, layout, readChip, readDescriptors } from "./image-format.js";

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
const sha256Size = 32;
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
	#checksum: number = layout.checksumSeed;
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
		if (this.#offset === 0) throw new ImageError("empty", "The file is empty.");
		throw new ImageError("truncated", `The image is cut off: the file ends after ${this.#offset} bytes.`);
	}

	*#parse(): Step<never> {
		yield* this.#checkMagic();
		const header = Buffer.concat([Uint8Array.of(layout.magic), yield* this.#take(layout.headerSize - 1)]);
		const segments = header.readUInt8(1);
		if (segments === 0 || segments > layout.maxSegments)
			throw new ImageError(
				"bad_segments",
				`The image names ${segments} segments; 1 to ${layout.maxSegments} are possible.`,
			);
		const chip = readChip(header.readUInt16LE(12));
		const hashAppended = header.readUInt8(23) === 1;

		const firstLength = yield* this.#segmentLength(1);
		const descriptors = yield* this.#take(Math.min(firstLength, layout.descriptorsSize));
		yield* this.#checkAppDescriptor(descriptors);
		const description = readDescriptors(descriptors);
		this.#checksum = addToChecksum(this.#checksum, descriptors);
		yield* this.#segmentData(firstLength - descriptors.length);
		for (let segment = 2; segment <= segments; segment++)
			yield* this.#segmentData(yield* this.#segmentLength(segment));

		yield* this.#checkChecksum();
		if (hashAppended) yield* this.#checkHash();
		this.#info = { chip, ...description, size: this.#offset };
		yield* this.#some(1);
		throw new ImageError(
			"trailing_bytes",
			`The image ends at ${this.#info.size} bytes, but more bytes follow. ${advice}`,
		);
	}

	*#checkMagic(): Step<void> {
		const first = (yield* this.#take(1)).readUInt8();
		if (first === layout.magic) return;
		const wrong = new ImageError(
			"not_an_image",
			`This is no firmware image: it begins with 0x${first.toString(16).padStart(2, "0")}, not with 0xe9.`,
		);
		this.#suspicion = wrong;
		if (first === 0xff) yield* this.#lookForBootLoader(wrong);
		const start = String.fromCharCode(first) + (yield* this.#take(3)).toString("latin1");
		const format = otherFormats.find(([magic]) => start.startsWith(magic));
		throw format ? new ImageError("not_an_image", `This is ${format[1]}, no firmware image.`) : wrong;
	}

	/** On an ESP32 a merged flash image is empty (0xff) up to the boot loader at 0x1000. */
	*#lookForBootLoader(otherwise: ImageError): Step<never> {
		yield* this.#skip(bootLoaderOffsetOnEsp32 - this.#offset);
		const found = (yield* this.#take(1)).readUInt8() === layout.magic;
		throw found ? mergedFlash() : otherwise;
	}

	*#checkAppDescriptor(bytes: Buffer): Step<void> {
		if (bytes.length >= 4 && bytes.readUInt32LE() === layout.appDescriptorMagic) return;
		const isBootLoader = bytes.at(0) === bootLoaderDescriptorMagic;
		this.#suspicion = isBootLoader
			? new ImageError("boot_loader", `This is a boot loader, not an application. ${advice}`)
			: new ImageError(
					"no_descriptor",
					`The image has no ESP-IDF application descriptor (0xabcd5432 at 0x20). ${advice}`,
				);
		yield* this.#skip(partitionTableOffset - this.#offset);
		const isMerged = (yield* this.#take(2)).readUInt16BE() === 0xaa50;
		throw isMerged ? mergedFlash() : this.#suspicion;
	}

	*#segmentLength(segment: number): Step<number> {
		const length = (yield* this.#take(layout.segmentHeaderSize)).readUInt32LE(4);
		if (length % 4 === 0 && length < layout.segmentLimit) return length;
		throw new ImageError(
			"bad_segments",
			`Segment ${segment} of the image has an impossible length, ${length} bytes.`,
		);
	}

	*#segmentData(length: number): Step<void> {
		for (let left = length; left > 0; ) {
			const part = yield* this.#some(left);
			this.#checksum = addToChecksum(this.#checksum, part);
			left -= part.length;
		}
	}

	/** The checksum is the last byte of the padding to a multiple of 16, which is never empty. */
	*#checkChecksum(): Step<void> {
		const padding = yield* this.#take(16 - (this.#offset % 16));
		if (padding.at(-1) === this.#checksum) return;
		throw new ImageError("bad_checksum", "The image is damaged: its checksum does not match its content.");
	}

	*#checkHash(): Step<void> {
		const expected = this.#hash.copy().digest();
		const appended = yield* this.#take(sha256Size);
		if (appended.equals(expected)) return;
		throw new ImageError("bad_sha256", "The image is damaged: its SHA-256 does not match its content.");
	}

	*#take(length: number): Step<Buffer> {
		const bytes = Buffer.alloc(length);
		for (let filled = 0; filled < length; ) {
			const part = yield* this.#some(length - filled);
			bytes.set(part, filled);
			filled += part.length;
		}
		return bytes;
	}

	*#skip(length: number): Step<void> {
		for (let left = length; left > 0; ) left -= (yield* this.#some(left)).length;
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
		"merged_flash",
		`This is a merged flash image, with boot loader and partition table, for flashing by cable. ${advice}`,
	);
}
