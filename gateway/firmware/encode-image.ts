/**
 * Writes a firmware image as ESP-IDF's tools would, around given content. A virtual device's release is such an image,
 * so that it passes through the same checks, slots and boot loader rules as a board's.
 */

import { createHash } from "node:crypto";
import type { Chip } from "../../device/protocol/messages.js";
import type { Model } from "../../device/protocol/schema.js";
import { addToChecksum } from "./checksum.js";
import { chipIds, layout } from "./image-format.js";

export interface ImageContent {
	readonly chip: Chip;
	readonly model: Model;
	/** Semantic version, at most 31 characters. */
	readonly version: string;
	/** At most 31 characters, as is `idfVersion`. */
	readonly project: string;
	readonly idfVersion: string;
	/**
	 * The second segment and those after it, at most 15; the first one holds the two descriptors and nothing else. A
	 * length that is no multiple of 4 is made one with line feeds, which do no harm at the end of a text.
	 */
	readonly segments: readonly Uint8Array[];
}

/**
 * The image as a file: header, descriptors, segments, checksum and SHA-256. The same content gives the same bytes.
 *
 * The data of the second segment begins at 0x168; the u32 at 0x164 is its padded length in bytes.
 *
 * @throws {RangeError} where the content does not fit the format
 */
export function encodeImage(content: ImageContent): Buffer {
	const segments = [encodeDescriptors(content), ...content.segments];
	if (segments.length > layout.maxSegments)
		throw new RangeError(`an image has at most ${layout.maxSegments - 1} segments beside its descriptors`);

	const header = Buffer.alloc(layout.headerSize);
	header[0] = layout.magic;
	header[1] = segments.length;
	header[8] = 0xee; // wp_pin: none
	header.writeUInt16LE(chipIds[content.chip], 12);
	header.writeUInt16LE(0xffff, 17); // max_chip_rev_full: any
	header[23] = 1; // hash_appended

	const body = Buffer.concat([header, ...segments.flatMap(encodeSegment)]);
	const padding = Buffer.alloc(16 - (body.length % 16));
	padding[padding.length - 1] = checksumOf(segments.map(pad));
	const image = Buffer.concat([body, padding]);
	return Buffer.concat([image, createHash("sha256").update(image).digest()]);
}

function encodeDescriptors(content: ImageContent): Buffer {
	const bytes = Buffer.alloc(layout.descriptorsSize);
	bytes.writeUInt32LE(layout.appDescriptorMagic, 0);
	writeText(bytes, 16, 32, content.version);
	writeText(bytes, 48, 32, content.project);
	writeText(bytes, 112, 32, content.idfVersion);
	const own = bytes.subarray(layout.appDescriptorSize);
	own.writeUInt32LE(layout.ownDescriptorMagic, 0);
	own.writeUInt32LE(layout.ownDescriptorSize, 4);
	writeText(own, 8, 16, content.model);
	writeText(own, 24, 32, content.version);
	return bytes;
}

function encodeSegment(data: Uint8Array): Buffer[] {
	const padded = pad(data);
	if (padded.length >= layout.segmentLimit)
		throw new RangeError(`a segment is shorter than ${layout.segmentLimit} bytes`);
	const header = Buffer.alloc(layout.segmentHeaderSize);
	header.writeUInt32LE(padded.length, 4);
	return [header, padded];
}

function pad(data: Uint8Array): Buffer {
	return Buffer.concat([data, Buffer.alloc(-data.length & 3, "\n")]);
}

function checksumOf(segments: readonly Buffer[]): number {
	return segments.reduce(addToChecksum, layout.checksumSeed);
}

function writeText(bytes: Buffer, offset: number, size: number, text: string): void {
	if (text.length >= size || /[^ -~]/.test(text))
		throw new RangeError(`"${text}" is not ASCII text of at most ${size - 1} characters`);
	bytes.write(text, offset, "latin1");
}
