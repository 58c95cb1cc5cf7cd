/**
 * Boot loader verification of an image in a slot: complete, for this chip, and undamaged. Ignores bytes after the image.
 * Source: ESP-IDF, esp_image_verify in components/bootloader_support/src/esp_image_format.c.
 */

import { createHash } from "node:crypto";
import {
	appDescriptor,
	chipIds,
	headBytes,
	imageLayout,
	ownDescriptor,
	readText,
} from "../../../../device/protocol/image.js";
import { ImageScanner } from "../../../../device/protocol/image-scanner.js";
import type { Flash } from "./flash.js";
import type { Partition } from "./partitions.js";

export interface VerifiedImage {
	/** Version in the application descriptor. */
	readonly version: string;
	/** Seconds since 1970, from the firmware descriptor; 0 if unknown. */
	readonly buildTime: number;
	/** Hexadecimal digits of the application descriptor's `imageId`. */
	readonly imageId: string;
	/** Security version in the firmware descriptor. */
	readonly securityVersion: number;
	/** Second segment: program of a virtual device. */
	readonly program: Buffer;
	/** Optional third segment: release keys in the format of `readReleaseKeys`; empty if there are none. */
	readonly releaseKeys: string;
	/** Image including its SHA-256. */
	readonly bytes: Buffer;
}

/** @throws Error that describes why the image is not bootable */
export function verifyImage(flash: Flash, slot: Partition): VerifiedImage {
	const header = flash.read(slot.offset, imageLayout.headerBytes);
	if (header.readUInt8(0) !== imageLayout.magic) throw new Error("no image");
	if (header.readUInt16LE(imageLayout.chipIdOffset) !== chipIds.virtual)
		throw new Error("image for another chip");
	const { bytes, contentBytes, hasDigest } = readImage(flash, slot);
	const digest = createHash("sha256").update(bytes.subarray(0, contentBytes)).digest();
	if (hasDigest && !digest.equals(bytes.subarray(contentBytes))) throw new Error("wrong SHA-256");
	const segmentCount = header.readUInt8(imageLayout.segmentCountOffset);
	const descriptorBytes = segmentBytes(bytes, imageLayout.headerBytes);
	if (segmentCount < 2 || descriptorBytes < headBytes - appDescriptor.offset)
		throw new Error("image without a program");
	const program = segmentAt(bytes, appDescriptor.offset + descriptorBytes);
	const keysOffset = appDescriptor.offset + descriptorBytes + imageLayout.segmentHeaderBytes + program.length;
	const { imageId } = appDescriptor;
	const releaseKeys = segmentCount > 2 ? segmentAt(bytes, keysOffset).toString("latin1").trimEnd() : "";
	return {
		version: readText(bytes, appDescriptor.version),
		imageId: bytes.toString("hex", imageId.offset, imageId.offset + imageId.byteLength),
		buildTime: bytes.readUInt32LE(ownDescriptor.buildTimeOffset),
		securityVersion: bytes.readUInt16LE(ownDescriptor.securityVersionOffset),
		program,
		releaseKeys,
		bytes,
	};
}

/** @param offset of the segment's header */
function segmentAt(image: Buffer, offset: number): Buffer {
	const start = offset + imageLayout.segmentHeaderBytes;
	return image.subarray(start, start + segmentBytes(image, offset));
}

/** @param offset of the segment's header */
function segmentBytes(image: Buffer, offset: number): number {
	return image.readUInt32LE(offset + imageLayout.segmentLengthOffset);
}

interface ReadImage {
	readonly bytes: Buffer;
	/** Length without the SHA-256. */
	readonly contentBytes: number;
	readonly hasDigest: boolean;
}

function readImage(flash: Flash, slot: Partition): ReadImage {
	const scanner = new ImageScanner({ verifiesChecksum: true });
	for (let at = 0; ; ) {
		const end = scanner.minimumBytes;
		if (end > slot.byteLength) throw new Error("image longer than its slot");
		const problem = scanner.write(flash.read(slot.offset + at, end - at));
		if (problem !== undefined) throw new Error(problem);
		at = end;
		const { contentBytes, hasDigest } = scanner;
		if (contentBytes !== undefined && at >= contentBytes)
			return { bytes: flash.read(slot.offset, end), contentBytes, hasDigest };
	}
}
