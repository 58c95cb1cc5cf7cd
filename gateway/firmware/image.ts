/**
 * Validates a firmware image like the boot loader (ESP-IDF's esp_image_format.c), and reads its chip, model and version.
 * Detects other formats that are uploaded by mistake, such as a merged flash image.
 */

import { createHash } from "node:crypto";
import { parse } from "semver";
import {
	appDescriptor,
	chipIds,
	findChip,
	headBytes,
	imageFlags,
	imageLayout,
	ownDescriptor,
	readText,
} from "../../device/protocol/image.js";
import { ImageScanner } from "../../device/protocol/image-scanner.js";
import type { Chip } from "../../device/protocol/messages.js";
import { boardChips } from "../../device/protocol/models.js";
import { type Model, models } from "../../device/protocol/schema.js";

/** Error whose message is a sentence for users. */
export class ImageError extends Error {
	override name = "ImageError";
}

export interface ImageInfo {
	readonly chip: Chip;
	readonly model: Model;
	/** Semantic version, equal in both descriptors. */
	readonly version: string;
	readonly idfVersion: string;
	/** `system.image` of a device that runs the image; undefined if unknown. */
	readonly imageId: string | undefined;
	/** Devices with a higher security version reject the image. */
	readonly securityVersion: number;
	/** Length of the image according to its header, without trailing data of the file. */
	readonly byteLength: number;
	/** SHA-256 of these bytes in hex, the digest that is signed. */
	readonly sha256: string;
}

/** Model and chip of an image or device; an unknown value matches any. */
export interface Fit {
	readonly model?: Model | undefined;
	readonly chip?: Chip | undefined;
}

/** Signature of another file format. */
interface Format {
	readonly offset: number;
	/** Latin-1 text of the bytes at `offset`. */
	readonly magic: string;
	readonly name: string;
}

const advice = "Upload only the application (xs_esp32.bin of a Moddable build).";
const mergedFlash = `a merged flash image with boot loader and partition table, for flashing over USB. ${advice}`;
const partitionTable: Format = { offset: 0x8000, magic: "\xaa\x50", name: mergedFlash };
/** Formats by the first byte of the file. */
const otherFormats: ReadonlyMap<number, Format> = new Map([
	[0x7f, { offset: 1, magic: "ELF", name: "an ELF file, not a firmware image." }],
	[0x50, { offset: 1, magic: "K\x03\x04", name: "a ZIP archive, not a firmware image." }],
	[0x1f, { offset: 1, magic: "\x8b", name: "a gzip file, not a firmware image." }],
	[0x55, { offset: 1, magic: "F2\n", name: "a UF2 file, not a firmware image." }],
	[0xaa, { offset: 1, magic: "\x50", name: "a partition table, not a firmware image." }],
	// Second format of esptool's ESP8266 images, always of 4 segments.
	[0xea, { offset: 1, magic: "\x04", name: "an image for ESP8266. Supported chips: ESP32-S3, ESP32." }],
	[0x3a, { offset: 1, magic: "10", name: "an Intel HEX file, not a firmware image." }],
	// A merged flash image for the ESP32 is empty before the boot loader.
	[0xff, { offset: 0x1000, magic: "\xe9", name: mergedFlash }],
]);
/** Chip ids of ESP-IDF (esp_chip_id_t in esp_app_format.h) and of esptool (IMAGE_CHIP_ID of its targets). */
const otherChips: ReadonlyMap<number, string> = new Map([
	[0x0002, "ESP32-S2"],
	[0x0005, "ESP32-C3"],
	[0x000c, "ESP32-C2"],
	[0x000d, "ESP32-C6"],
	[0x0010, "ESP32-H2"],
	[0x0012, "ESP32-P4"],
	[0x0014, "ESP32-C61"],
	[0x0017, "ESP32-C5"],
	[0x0019, "ESP32-H21"],
	[0x001c, "ESP32-H4"],
	[0x001f, "ESP32-E22"],
	[0x0020, "ESP32-S31"],
]);
/** Load addresses of ESP8266 segments: its RAM, below the mapped flash (esptool's targets/esp8266.py). */
const esp8266 = Object.freeze({ loadOffset: 8, start: 0x3ffe_8000, end: 0x4020_0000 });
/** First byte of the boot loader descriptor, at the offset of the application descriptor. */
const bootLoaderMagic = 0x50;

/** @param bytes the whole file @throws {ImageError} */
export function parseImage(bytes: Buffer): ImageInfo {
	const parser = new ImageParser();
	parser.write(bytes);
	const { info } = parser.end();
	if (info instanceof ImageError) throw info;
	return info;
}

/**
 * Validates a file and computes its SHA-256 in a single pass. Bytes after the end of the image (a signature, sector
 * padding) are ignored.
 */
export class ImageParser {
	readonly #scanner = new ImageScanner({ verifiesChecksum: true });
	readonly #hash = createHash("sha256");
	/** First bytes of the file, sufficient to detect other formats. Scanned once complete. */
	readonly #head = Buffer.alloc(partitionTable.offset + partitionTable.magic.length);
	#headBytes = 0;
	/** Number of bytes scanned and hashed so far. */
	#size = 0;
	/** First problem found by the scanner. */
	#problem: string | undefined;
	#contentDigest: Buffer | undefined;
	/** Digest of the image, including the SHA-256 appended to its content. */
	#imageDigest: Buffer | undefined;
	/** SHA-256 that follows the content. */
	readonly #appended = Buffer.alloc(imageLayout.digestBytes);

	write(bytes: Uint8Array): void {
		const free = this.#head.length - this.#headBytes;
		if (free === 0) return this.#scan(bytes);
		this.#head.set(bytes.subarray(0, free), this.#headBytes);
		this.#headBytes += Math.min(free, bytes.length);
		if (free > bytes.length) return;
		this.#scan(this.#head);
		this.#scan(bytes.subarray(free));
	}

	/** Must be called once, at the end of the file. */
	end(): { readonly sha256: Buffer; readonly info: ImageInfo | ImageError } {
		if (this.#size === 0) this.#scan(this.#head.subarray(0, this.#headBytes));
		return { sha256: this.#hash.digest(), info: this.#evaluate() };
	}

	#scan(bytes: Uint8Array): void {
		this.#problem = this.#scanner.write(bytes);
		const { contentBytes = Number.POSITIVE_INFINITY, minimumBytes } = this.#scanner;
		const remainder = this.#hashTo(contentBytes, bytes);
		if (this.#size === contentBytes) this.#contentDigest = this.#hash.copy().digest();
		const at = this.#size - contentBytes;
		if (at >= 0 && at < imageLayout.digestBytes)
			this.#appended.set(remainder.subarray(0, imageLayout.digestBytes - at), at);
		// `minimumBytes` is preliminary until the end of the content is known.
		const trailing = this.#contentDigest ? this.#hashTo(minimumBytes, remainder) : remainder;
		if (this.#contentDigest && this.#size === minimumBytes) this.#imageDigest = this.#hash.copy().digest();
		this.#hashTo(Number.POSITIVE_INFINITY, trailing);
	}

	/** Hashes bytes up to an offset in the file. @returns the bytes after it */
	#hashTo(end: number, bytes: Uint8Array): Uint8Array {
		const part = bytes.subarray(0, Math.max(0, end - this.#size));
		this.#hash.update(part);
		this.#size += part.length;
		return bytes.subarray(part.length);
	}

	#evaluate(): ImageInfo | ImageError {
		try {
			const head = parseHead(this.#head.subarray(0, this.#headBytes));
			const { contentBytes, hasDigest, minimumBytes } = this.#scanner;
			if (this.#problem !== undefined) return new ImageError(this.#problem);
			if (contentBytes === undefined || this.#size < minimumBytes)
				return new ImageError(this.#scanner.describeCut(this.#size));
			if (hasDigest && !this.#contentDigest?.equals(this.#appended))
				return new ImageError("The image is damaged: its SHA-256 does not match its content.");
			return { ...head, byteLength: minimumBytes, sha256: this.#imageDigest?.toString("hex") ?? "" };
		} catch (error) {
			if (error instanceof ImageError) return error;
			throw error;
		}
	}
}

/** @throws {ImageError} */
function parseHead(head: Buffer): Omit<ImageInfo, "byteLength" | "sha256"> {
	const [first] = head;
	if (first === undefined) throw new ImageError("The file is empty.");
	if (first !== imageLayout.magic) {
		const hex = first.toString(16).padStart(2, "0");
		throw describe(
			head,
			otherFormats.get(first),
			`This is not a firmware image: it starts with 0x${hex} instead of 0xe9.`,
		);
	}
	const scanner = new ImageScanner();
	scan(scanner, head, 0, imageLayout.headerBytes);
	const id = readChipId(head);
	scan(scanner, head, imageLayout.headerBytes, appDescriptor.offset);
	return readDescriptors(head, id);
}

export function isVersion(text: string): boolean {
	return /^\d\S*$/.test(text) && parse(text) !== null;
}

export function describeFit({ model, chip }: Fit): string {
	return `${model ?? "an unknown model"} (${chip ?? "unknown chip"})`;
}

/** Whether two images are the same; undefined if one is unknown, so that their versions decide. */
export function isSameImage(a: string | undefined, b: string | undefined): boolean | undefined {
	return a === undefined || b === undefined ? undefined : a === b;
}

export function fits(image: Fit, device: Fit): boolean {
	const isSame = (a: string | undefined, b: string | undefined) => a === b || !a || !b;
	if (!device.chip && image.chip && !boardChips.some((chip) => chip === image.chip)) return false;
	return isSame(image.model, device.model) && isSame(image.chip, device.chip);
}

/** @throws {ImageError} if the bytes are invalid, or the file ends before `end` */
function scan(scanner: ImageScanner, bytes: Buffer, start: number, end: number): void {
	const problem = scanner.write(bytes.subarray(start, end));
	if (problem !== undefined) throw new ImageError(problem);
	if (bytes.length < end) throw new ImageError(scanner.describeCut(bytes.length));
}

/** @returns error that names the detected format, or one with the given sentence */
function describe(bytes: Buffer, format: Format | undefined, sentence: string): ImageError {
	const { offset = 0, magic = "", name } = format ?? {};
	const found = bytes.toString("latin1", offset, offset + magic.length);
	return new ImageError(name !== undefined && found === magic ? `This is ${name}` : sentence);
}

/** @throws {ImageError} for an unsupported chip */
function readChipId(header: Buffer): number {
	// An ESP8266 image has its first segment in place of the chip id.
	const load = header.readUInt32LE(esp8266.loadOffset);
	if (load >= esp8266.start && load < esp8266.end) throw unsupported("ESP8266");
	const id = header.readUInt16LE(imageLayout.chipIdOffset);
	if (Object.values(chipIds).includes(id)) return id;
	throw unsupported(otherChips.get(id) ?? `a chip with the id 0x${id.toString(16).padStart(4, "0")}`);
}

function unsupported(chip: string): ImageError {
	return new ImageError(`The image is for ${chip}. Supported chips: ESP32-S3, ESP32.`);
}

/** Reads both descriptors from the start of the first segment, which may be too short for them. */
function readDescriptors(bytes: Buffer, chipId: number): Omit<ImageInfo, "byteLength" | "sha256"> {
	const firstBytes = bytes.readUInt32LE(imageLayout.headerBytes + imageLayout.segmentLengthOffset);
	const head = Buffer.alloc(headBytes);
	bytes.copy(head, 0, 0, Math.min(headBytes, appDescriptor.offset + firstBytes));
	if (head.readUInt32LE(appDescriptor.offset) !== appDescriptor.magic) {
		const isBootLoader = head[appDescriptor.offset] === bootLoaderMagic;
		const sentence = isBootLoader
			? "This is a boot loader, not an application."
			: "The image has no ESP-IDF application descriptor (0xabcd5432 at 0x20).";
		throw describe(bytes, partitionTable, `${sentence} ${advice}`);
	}
	const { offset, sizeOffset, magic, byteLength, flagsOffset } = ownDescriptor;
	if (head.readUInt32LE(offset) !== magic || head.readUInt32LE(sizeOffset) !== byteLength)
		throw new ImageError(
			'The model of the image is unknown: this project\'s descriptor ("DAG1" at 0x120) is missing.',
		);
	const name = readText(head, ownDescriptor.model);
	const model = models.find((known) => known === name);
	if (model === undefined)
		throw new ImageError(
			`The image is for the unknown model "${name}". Supported models: ${models.join(", ")}.`,
		);
	const version = readText(head, ownDescriptor.version);
	const appVersion = readText(head, appDescriptor.version);
	if (version !== appVersion)
		throw new ImageError(
			`The image has two versions: "${appVersion}" for ESP-IDF and "${version}" for this project.`,
		);
	if (!isVersion(version))
		throw new ImageError(`The image's version "${version}" is not a semantic version such as 1.4.0.`);
	const flags = head.readUInt16LE(flagsOffset);
	const chip = findChip(chipId, flags);
	if (chip === undefined) throw new ImageError("The image is for a chip that QEMU does not emulate.");
	if (flags & imageFlags.hasSettings)
		throw new ImageError(
			"This image was built with mcconfig only, so the network, gateway or token of one device may be compiled in. " +
				"Build it with npm run release.",
		);
	const securityVersion = head.readUInt16LE(ownDescriptor.securityVersionOffset);
	const { byteLength: idBytes, offset: idOffset } = appDescriptor.imageId;
	const imageId = head.toString("hex", idOffset, idOffset + idBytes);
	return {
		chip,
		model,
		version,
		securityVersion,
		idfVersion: readText(head, appDescriptor.idfVersion),
		imageId: /^0+$/.test(imageId) ? undefined : imageId,
	};
}
