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

const advice = "Upload only the application (xs_esp32.bin of a Moddable build).";
/** Other file formats: first bytes as Latin-1 text, and name. */
const otherFormats: readonly (readonly [magic: string, name: string])[] = [
	["\x7fELF", "an ELF file, not a firmware image."],
	["PK\x03\x04", "a ZIP archive, not a firmware image."],
	["\x1f\x8b", "a gzip file, not a firmware image."],
	["UF2\n", "a UF2 file, not a firmware image."],
	["\xaa\x50", "a partition table, not a firmware image."],
	// Second format of esptool's ESP8266 images, always of 4 segments.
	["\xea\x04", "an image for ESP8266. Supported chips: ESP32-S3, ESP32."],
	[":10", "an Intel HEX file, not a firmware image."],
	// A merged flash image for the ESP32 is empty before the boot loader.
	["\xff\xff", `empty flash memory, as at the start of a merged flash image for USB flashing. ${advice}`],
];
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
	/** First bytes of the file. */
	readonly #head = Buffer.alloc(headBytes);
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
		if (this.#size < headBytes) this.#head.set(bytes.subarray(0, headBytes - this.#size), this.#size);
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

	/** Must be called once, at the end of the file. */
	end(): { readonly sha256: Buffer; readonly info: ImageInfo | ImageError } {
		return { sha256: this.#hash.digest(), info: this.#evaluate() };
	}

	/** Hashes bytes up to an offset in the file. @returns the bytes after it */
	#hashTo(end: number, bytes: Uint8Array): Uint8Array {
		const part = bytes.subarray(0, Math.max(0, end - this.#size));
		this.#hash.update(part);
		this.#size += part.length;
		return bytes.subarray(part.length);
	}

	#evaluate(): ImageInfo | ImageError {
		const { contentBytes, hasDigest, minimumBytes } = this.#scanner;
		try {
			if (this.#size === 0) throw new ImageError("The file is empty.");
			const chipId = readChipId(this.#head);
			if (this.#problem !== undefined) throw new ImageError(this.#problem);
			if (contentBytes === undefined || this.#size < minimumBytes)
				throw new ImageError(this.#scanner.describeCut(this.#size));
			const head = readDescriptors(this.#head, chipId);
			if (hasDigest && !this.#contentDigest?.equals(this.#appended))
				throw new ImageError("The image is damaged: its SHA-256 does not match its content.");
			return { ...head, byteLength: minimumBytes, sha256: this.#imageDigest?.toString("hex") ?? "" };
		} catch (error) {
			if (error instanceof ImageError) return error;
			throw error;
		}
	}
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

/** @throws {ImageError} for another file format or an unsupported chip */
function readChipId(head: Buffer): number {
	const start = head.toString("latin1");
	const [, format] = otherFormats.find(([magic]) => start.startsWith(magic)) ?? [];
	if (format !== undefined) throw new ImageError(`This is ${format}`);
	const [first] = head;
	if (first !== imageLayout.magic) {
		const hex = head.toString("hex", 0, 1);
		throw new ImageError(`This is not a firmware image: it starts with 0x${hex} instead of 0xe9.`);
	}
	// An ESP8266 image has its first segment in place of the chip id.
	const load = head.readUInt32LE(esp8266.loadOffset);
	if (load >= esp8266.start && load < esp8266.end) throw unsupported("ESP8266");
	const id = head.readUInt16LE(imageLayout.chipIdOffset);
	if (Object.values(chipIds).includes(id)) return id;
	throw unsupported(otherChips.get(id) ?? `a chip with the id 0x${id.toString(16).padStart(4, "0")}`);
}

function unsupported(chip: string): ImageError {
	return new ImageError(`The image is for ${chip}. Supported chips: ESP32-S3, ESP32.`);
}

/** Reads both descriptors from the start of the first segment, which may be too short for them. */
function readDescriptors(head: Buffer, chipId: number): Omit<ImageInfo, "byteLength" | "sha256"> {
	const firstBytes = head.readUInt32LE(imageLayout.headerBytes + imageLayout.segmentLengthOffset);
	head.fill(0, Math.min(headBytes, appDescriptor.offset + firstBytes));
	if (head.readUInt32LE(appDescriptor.offset) !== appDescriptor.magic) {
		const isBootLoader = head[appDescriptor.offset] === bootLoaderMagic;
		const sentence = isBootLoader
			? "This is a boot loader, or a merged flash image that begins with one, not an application."
			: "The image has no ESP-IDF application descriptor (0xabcd5432 at 0x20).";
		throw new ImageError(`${sentence} ${advice}`);
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
