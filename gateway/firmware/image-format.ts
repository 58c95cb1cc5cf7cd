/**
 * The layout of an ESP-IDF application image, and what its header and descriptors say. ESP-IDF's esp_app_format.h (headers),
 * esp_app_desc.h (application descriptor); the descriptor after ESP-IDF's is this project's own.
 */

import { parse } from "semver";
import type { Chip } from "../../device/protocol/messages.js";
import { type Model, models } from "../../device/protocol/schema.js";

/** Offsets and sizes in bytes; every number in an image is little-endian. */
export const layout = Object.freeze({
	magic: 0xe9,
	headerSize: 24,
	segmentHeaderSize: 8,
	maxSegments: 16,
	/** A segment is shorter than this, and its length a multiple of 4. */
	segmentLimit: 0x100_0000,
	checksumSeed: 0xef,
	appDescriptorMagic: 0xabcd_5432,
	appDescriptorSize: 256,
	/** "DAG1" */
	ownDescriptorMagic: 0x3147_4144,
	ownDescriptorSize: 64,
	descriptorsSize: 256 + 64,
});

/** `chip_id` of the image header. No board answers to the virtual one, so none takes such an image. */
export const chipIds: Readonly<Record<Chip, number>> = Object.freeze({
	esp32: 0x0000,
	esp32s3: 0x0009,
	virtual: 0xfff0,
});

const otherChips: ReadonlyMap<number, string> = new Map([
	[0x0002, "ESP32-S2"],
	[0x0005, "ESP32-C3"],
	[0x000c, "ESP32-C2"],
	[0x000d, "ESP32-C6"],
	[0x0010, "ESP32-H2"],
	[0x0012, "ESP32-P4"],
]);

export type ImageFault =
	| "empty"
	| "not_an_image"
	| "merged_flash"
	| "boot_loader"
	| "wrong_chip"
	| "bad_segments"
	| "truncated"
	| "trailing_bytes"
	| "bad_checksum"
	| "bad_sha256"
	| "no_descriptor"
	| "unknown_model"
	| "bad_version";

/** Why an image is not taken; `message` is a sentence for the person who made it. */
export class ImageError extends Error {
	readonly fault: ImageFault;

	constructor(fault: ImageFault, message: string) {
		super(message);
		this.name = "ImageError";
		this.fault = fault;
	}
}

export interface ImageInfo {
	readonly chip: Chip;
	readonly model: Model;
	/** Semantic version, the same in both descriptors. */
	readonly version: string;
	readonly project: string;
	readonly idfVersion: string;
	/** In bytes. */
	readonly size: number;
}

/** @throws {ImageError} where no device has that chip */
export function readChip(id: number): Chip {
	if (id === chipIds.esp32s3) return "esp32s3";
	if (id === chipIds.esp32) return "esp32";
	if (id === chipIds.virtual) return "virtual";
	const name = otherChips.get(id) ?? `a chip with the id 0x${id.toString(16).padStart(4, "0")}`;
	throw new ImageError("wrong_chip", `The image is for ${name}; these devices have an ESP32-S3 or an ESP32.`);
}

/**
 * @param bytes of the first segment, from its start
 * @throws {ImageError} where they do not say which model and version it is
 */
export function readDescriptors(
	bytes: Buffer,
): Pick<ImageInfo, "model" | "version" | "project" | "idfVersion"> {
	const own = bytes.subarray(layout.appDescriptorSize);
	if (
		own.length < layout.ownDescriptorSize ||
		own.readUInt32LE(0) !== layout.ownDescriptorMagic ||
		own.readUInt32LE(4) !== layout.ownDescriptorSize
	)
		throw new ImageError(
			"no_descriptor",
			'The image does not say which model it is for: this project\'s descriptor ("DAG1" at 0x120) is missing.',
		);
	const name = readText(own, 8, 16);
	const model = models.find((known) => known === name);
	if (model === undefined)
		throw new ImageError(
			"unknown_model",
			`The image is for the model "${name}"; there are ${models.join(" and ")}.`,
		);
	const version = readText(own, 24, 32);
	const appVersion = readText(bytes, 16, 32);
	if (version !== appVersion)
		throw new ImageError(
			"bad_version",
			`The image names two versions: "${appVersion}" for ESP-IDF and "${version}" for this project.`,
		);
	if (!isVersion(version))
		throw new ImageError(
			"bad_version",
			`The image's version "${version}" is not a semantic version such as 1.4.0.`,
		);
	return { model, version, project: readText(bytes, 48, 32), idfVersion: readText(bytes, 112, 32) };
}

/** Whether it is a semantic version as it stands, without a `v` before it. */
export function isVersion(text: string): boolean {
	return /^\d\S*$/.test(text) && parse(text) !== null;
}

/** Text up to the first NUL; what is not printable ASCII shows as "?". */
function readText(bytes: Buffer, offset: number, size: number): string {
	const field = bytes.subarray(offset, offset + size);
	const end = field.indexOf(0);
	return field.toString("latin1", 0, end < 0 ? size : end).replace(/[^ -~]/g, "?");
}
