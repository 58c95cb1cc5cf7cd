/** Encodes firmware images in ESP-IDF's format, which virtual devices share with boards to run the same checks. */

import { createHash } from "node:crypto";
import {
	appDescriptor,
	chipIds,
	headBytes,
	imageFlags,
	imageLayout,
	ownDescriptor,
	type TextField,
} from "../../../../device/protocol/image.js";
import { addToChecksum } from "../../../../device/protocol/image-scanner.js";
import type { Chip } from "../../../../device/protocol/messages.js";
import type { Model } from "../../../../device/protocol/schema.js";

export interface ImageContent {
	readonly chip: Chip;
	readonly model: Model;
	/** Semantic version, at most 31 characters. */
	readonly version: string;
	/** At most 31 characters, like `idfVersion`. */
	readonly project: string;
	readonly idfVersion: string;
	/** Default: 0. */
	readonly securityVersion?: number;
	/** Seconds since 1970. Default: 0 (unknown). */
	readonly buildTime?: number;
	/**
	 * At most 15 segments, following the one with the descriptors. Padded to a multiple of 4 bytes with line feeds, which are
	 * harmless at the end of a text.
	 */
	readonly segments: readonly Uint8Array[];
	/** Default: false. */
	readonly hasSettings?: boolean;
}

/**
 * Encodes an image deterministically.
 *
 * @throws {RangeError} if the content does not fit the format
 */
export function encodeImage(content: ImageContent): Buffer {
	const head = encodeHead(content);
	const segments = content.segments.map(pad);
	head.set(sha256([head, ...segments]), appDescriptor.imageId.offset);
	const body = Buffer.concat([head, ...segments.flatMap((data) => [encodeSegmentHeader(data), data])]);
	const padding = Buffer.alloc(imageLayout.paddedTo - (body.length % imageLayout.paddedTo));
	const data = [head.subarray(appDescriptor.offset), ...segments];
	padding[padding.length - 1] = data.reduce(addToChecksum, imageLayout.checksumSeed);
	const image = Buffer.concat([body, padding]);
	return Buffer.concat([image, sha256([image])]);
}

function sha256(parts: readonly Uint8Array[]): Buffer {
	return createHash("sha256").update(Buffer.concat(parts)).digest();
}

/** Encodes everything before the second segment. */
function encodeHead(content: ImageContent): Buffer {
	const segmentCount = content.segments.length + 1;
	if (segmentCount > imageLayout.maxSegments)
		throw new RangeError(
			`An image can have at most ${imageLayout.maxSegments - 1} segments in addition to its descriptors.`,
		);
	const head = Buffer.alloc(headBytes);
	head[0] = imageLayout.magic;
	head[imageLayout.segmentCountOffset] = segmentCount;
	head[8] = 0xee; // wp_pin: none
	head.writeUInt16LE(chipIds[content.chip], imageLayout.chipIdOffset);
	head.writeUInt16LE(0xffff, 17); // max_chip_rev_full: any
	head[imageLayout.hasDigestOffset] = 1;
	head.set(encodeSegmentHeader(head.subarray(appDescriptor.offset)), imageLayout.headerBytes);
	head.writeUInt32LE(appDescriptor.magic, appDescriptor.offset);
	writeText(head, appDescriptor.version, content.version);
	writeText(head, appDescriptor.project, content.project);
	writeText(head, appDescriptor.idfVersion, content.idfVersion);
	head.writeUInt32LE(ownDescriptor.magic, ownDescriptor.offset);
	head.writeUInt32LE(ownDescriptor.byteLength, ownDescriptor.sizeOffset);
	writeText(head, ownDescriptor.model, content.model);
	writeText(head, ownDescriptor.version, content.version);
	const flags =
		(content.hasSettings ? imageFlags.hasSettings : 0) |
		(content.chip === "esp32s3-qemu" ? imageFlags.isForQemu : 0);
	head.writeUInt16LE(flags, ownDescriptor.flagsOffset);
	head.writeUInt16LE(content.securityVersion ?? 0, ownDescriptor.securityVersionOffset);
	head.writeUInt32LE(content.buildTime ?? 0, ownDescriptor.buildTimeOffset);
	return head;
}

function encodeSegmentHeader({ length }: Uint8Array): Buffer {
	if (length >= imageLayout.segmentLimit)
		throw new RangeError(`A segment must be shorter than ${imageLayout.segmentLimit} bytes.`);
	const header = Buffer.alloc(imageLayout.segmentHeaderBytes);
	header.writeUInt32LE(length, imageLayout.segmentLengthOffset);
	return header;
}

function pad(data: Uint8Array): Buffer {
	return Buffer.concat([data, Buffer.alloc(-data.length & 3, "\n")]);
}

function writeText(image: Buffer, { offset, byteLength }: TextField, text: string): void {
	if (text.length >= byteLength || /[^ -~]/.test(text))
		throw new RangeError(`"${text}" must be ASCII text of at most ${byteLength - 1} characters.`);
	image.write(text, offset, "latin1");
}
