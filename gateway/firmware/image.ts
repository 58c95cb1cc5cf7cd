/**
 * Validates a firmware image as the boot loader does (ESP-IDF's esp_image_format.c), and reads its chip, model and
 * version. It recognizes other files that people upload by mistake, such as a merged flash image.
 */

import { createHash } from "node:crypto";
import { parse } from "semver";
import {
	appDescriptor,
	chipIds,
	headBytes,
	imageFlags,
	imageLayout,
	ownDescriptor,
	readText,
} from "../../device/protocol/image.js";
import { ImageScanner } from "../../device/protocol/image-scanner.js";
import { type Chip, chips } from "../../device/protocol/messages.js";
import { type Model, models } from "../../device/protocol/schema.js";

/** `message` is a sentence for a person. */
export class ImageError extends Error {
	override name = "ImageError";
}

export interface ImageInfo {
	readonly chip: Chip;
	readonly model: Model;
	/** Semantic version, the same in both descriptors. */
	readonly version: string;
	readonly idfVersion: string;
	/** A device that runs a higher one does not take the image. */
	readonly securityVersion: number;
	/** Length of the image according to its header, without data after it in the file. */
	readonly byteLength: number;
	/** SHA-256 of these bytes, in hex; signatures refer to it. */
	readonly sha256: string;
}

/** Requirements of an image; an unknown value matches any. */
export interface Fit {
	readonly model?: Model | undefined;
	readonly chip?: Chip | undefined;
}

/** Another file format: these characters, each a byte, at that offset. */
interface Format {
	readonly offset: number;
	readonly magic: string;
	readonly name: string;
}

const advice = "Upload the application alone (from a Moddable build: xs_esp32.bin).";
const mergedFlash = `a merged flash image, with boot loader and partition table, for flashing by cable. ${advice}`;
const partitionTable: Format = { offset: 0x8000, magic: "\xaa\x50", name: mergedFlash };
/** By the first byte of the file. */
const otherFormats: ReadonlyMap<number, Format> = new Map([
	[0x7f, { offset: 1, magic: "ELF", name: "an ELF file, no firmware image." }],
	[0x50, { offset: 1, magic: "K\x03\x04", name: "a ZIP archive, no firmware image." }],
	[0x1f, { offset: 1, magic: "\x8b", name: "a gzip file, no firmware image." }],
	[0x55, { offset: 1, magic: "F2\n", name: "a UF2 file, no firmware image." }],
	[0xaa, { offset: 1, magic: "\x50", name: "a partition table, no firmware image." }],
	[0x3a, { offset: 1, magic: "10", name: "an Intel HEX file, no firmware image." }],
	// On an ESP32 a merged flash image is empty up to the boot loader.
	[0xff, { offset: 0x1000, magic: "\xe9", name: mergedFlash }],
]);
const otherChips: ReadonlyMap<number, string> = new Map([
	[0x0002, "ESP32-S2"],
	[0x0005, "ESP32-C3"],
	[0x000c, "ESP32-C2"],
	[0x000d, "ESP32-C6"],
	[0x0010, "ESP32-H2"],
	[0x0012, "ESP32-P4"],
]);
/** First byte of a boot loader's descriptor, at the place of an application's. */
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
 * Validates a file while it is read, and computes its SHA-256 in the same pass. Bytes after the image's end (a
 * signature, padding to a sector) are ignored.
 */
export class ImageParser {
	readonly #scanner = new ImageScanner({ verifiesChecksum: true });
	readonly #hash = createHash("sha256");
	/** Enough to recognize other formats; scanned once it is complete. */
	readonly #head = Buffer.alloc(partitionTable.offset + partitionTable.magic.length);
	#headBytes = 0;
	/** Scanned and hashed so far. */
	#size = 0;
	/** First problem found by the scanner. */
	#problem: string | undefined;
	#contentDigest: Buffer | undefined;
	/** Digest of the image, including the SHA-256 appended to its content. */
	#imageDigest: Buffer | undefined;
	/** The SHA-256 that follows the content. */
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

	/** To be called once, at the end of the file. */
	end(): { readonly sha256: Buffer; readonly info: ImageInfo | ImageError } {
		if (this.#size === 0) this.#scan(this.#head.subarray(0, this.#headBytes));
		return { sha256: this.#hash.digest(), info: this.#evaluate() };
	}

	#scan(bytes: Uint8Array): void {
		this.#problem = this.#scanner.write(bytes);
		const { contentBytes = Number.POSITIVE_INFINITY, minimumBytes } = this.#scanner;
		const others = this.#hashTo(contentBytes, bytes);
		if (this.#size === contentBytes) this.#contentDigest = this.#hash.copy().digest();
		const at = this.#size - contentBytes;
		if (at >= 0 && at < imageLayout.digestBytes)
			this.#appended.set(others.subarray(0, imageLayout.digestBytes - at), at);
		// Before the content's end is known, it is not this image's.
		const behind = this.#contentDigest ? this.#hashTo(minimumBytes, others) : others;
		if (this.#contentDigest && this.#size === minimumBytes) this.#imageDigest = this.#hash.copy().digest();
		this.#hashTo(Number.POSITIVE_INFINITY, behind);
	}

	/** @param end offset in the file @returns the bytes from there on */
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
			`This is no firmware image: it begins with 0x${hex}, not with 0xe9.`,
		);
	}
	const scanner = new ImageScanner();
	scan(scanner, head, 0, imageLayout.headerBytes);
	const chip = readChip(head);
	scan(scanner, head, imageLayout.headerBytes, appDescriptor.offset);
	return { chip, ...readDescriptors(head) };
}

export function isVersion(text: string): boolean {
	return /^\d\S*$/.test(text) && parse(text) !== null;
}

export function describeFit({ model, chip }: Fit): string {
	return `${model ?? "an unknown model"} (${chip ?? "chip not known"})`;
}

export function fits(image: Fit, device: Fit): boolean {
	const isSame = (a: string | undefined, b: string | undefined) => a === b || !a || !b;
	// Only a virtual device runs such an image, and each one names its chip.
	if (image.chip === "virtual" && device.chip !== "virtual") return false;
	return isSame(image.model, device.model) && isSame(image.chip, device.chip);
}

/** @throws {ImageError} if these bytes cannot be part of an image, or the file ends before `end` */
function scan(scanner: ImageScanner, bytes: Buffer, start: number, end: number): void {
	const problem = scanner.write(bytes.subarray(start, end));
	if (problem !== undefined) throw new ImageError(problem);
	if (bytes.length < end) throw new ImageError(scanner.describeCut(bytes.length));
}

/** @returns an error that names the file's format if it is this one, else one with this sentence */
function describe(bytes: Buffer, format: Format | undefined, sentence: string): ImageError {
	const { offset = 0, magic = "", name } = format ?? {};
	const found = bytes.toString("latin1", offset, offset + magic.length);
	return new ImageError(name !== undefined && found === magic ? `This is ${name}` : sentence);
}

function readChip(header: Buffer): Chip {
	const id = header.readUInt16LE(imageLayout.chipIdOffset);
	const chip = chips.find((known) => chipIds[known] === id);
	if (chip) return chip;
	const name = otherChips.get(id) ?? `a chip with the id 0x${id.toString(16).padStart(4, "0")}`;
	throw new ImageError(`The image is for ${name}; these devices have an ESP32-S3 or an ESP32.`);
}

/** Both descriptors are at the start of the first segment, which may be too short for them. */
function readDescriptors(bytes: Buffer): Omit<ImageInfo, "chip" | "byteLength" | "sha256"> {
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
			'The image does not say which model it is for: this project\'s descriptor ("DAG1" at 0x120) is missing.',
		);
	const name = readText(head, ownDescriptor.model);
	const model = models.find((known) => known === name);
	if (model === undefined)
		throw new ImageError(`The image is for the model "${name}"; there are ${models.join(" and ")}.`);
	const version = readText(head, ownDescriptor.version);
	const appVersion = readText(head, appDescriptor.version);
	if (version !== appVersion)
		throw new ImageError(
			`The image names two versions: "${appVersion}" for ESP-IDF and "${version}" for this project.`,
		);
	if (!isVersion(version))
		throw new ImageError(`The image's version "${version}" is not a semantic version such as 1.4.0.`);
	if (head.readUInt16LE(flagsOffset) & imageFlags.hasSettings)
		throw new ImageError(
			"This image was built by mcconfig alone, so the network, gateway or token of one device may be compiled in; " +
				"build it with npm run release, so that it fits every device.",
		);
	const securityVersion = head.readUInt16LE(ownDescriptor.securityVersionOffset);
	return { model, version, securityVersion, idfVersion: readText(head, appDescriptor.idfVersion) };
}
