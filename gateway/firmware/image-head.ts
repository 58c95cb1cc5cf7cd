/** What the head of a firmware image says it is: chip, model and version. */

import { parse } from "semver";
import {
	appDescriptor,
	chipIds,
	imageFlags,
	imageLayout,
	ownDescriptor,
	readText,
} from "../../device/protocol/image.js";
import { type Chip, chips } from "../../device/protocol/messages.js";
import { type Model, models } from "../../device/protocol/schema.js";

const otherChips: ReadonlyMap<number, string> = new Map([
	[0x0002, "ESP32-S2"],
	[0x0005, "ESP32-C3"],
	[0x000c, "ESP32-C2"],
	[0x000d, "ESP32-C6"],
	[0x0010, "ESP32-H2"],
	[0x0012, "ESP32-P4"],
]);

/** Why an image is not taken; `message` is a sentence for the person who made it. */
export class ImageError extends Error {
	override name = "ImageError";
}

export interface ImageInfo {
	readonly chip: Chip;
	readonly model: Model;
	/** Semantic version, the same in both descriptors. */
	readonly version: string;
	readonly idfVersion: string;
}

/**
 * @param header of the image
 * @throws {ImageError} where no device has that chip
 */
export function readChip(header: Buffer): Chip {
	const id = header.readUInt16LE(imageLayout.chipIdOffset);
	const chip = chips.find((known) => chipIds[known] === id);
	if (chip) return chip;
	const name = otherChips.get(id) ?? `a chip with the id 0x${id.toString(16).padStart(4, "0")}`;
	throw new ImageError(`The image is for ${name}; these devices have an ESP32-S3 or an ESP32.`);
}

/**
 * @param head `headBytes` from the image's start, with zeros where the first segment is shorter than the descriptors
 * @throws {ImageError} where they do not say which model and version it is, or where the image is for a single device
 */
export function readDescriptors(head: Buffer): Omit<ImageInfo, "chip"> {
	const { offset, sizeOffset, magic, byteLength } = ownDescriptor;
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
	if (head.readUInt32LE(ownDescriptor.flagsOffset) & imageFlags.hasSettings)
		throw new ImageError(
			"This image was built by mcconfig alone, so the network, gateway or token of one device may be compiled in; " +
				"build it with npm run release, so that it fits every device.",
		);
	return { model, version, idfVersion: readText(head, appDescriptor.idfVersion) };
}

/** Whether it is a semantic version as it stands, without a `v` before it. */
export function isVersion(text: string): boolean {
	return /^\d\S*$/.test(text) && parse(text) !== null;
}
