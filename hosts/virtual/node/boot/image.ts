/**
 * The boot loader's look at an image in a slot: whole, for this chip, unchanged since it was made. It is the last line: what
 * passes here is started. (ESP-IDF: esp_image_verify in esp_image_format.c.)
 */

import { createHash } from "node:crypto";
import { appDescriptor, chipIds, imageLayout, readText } from "../../../../device/protocol/image.js";
import type { Flash } from "./flash.js";
import type { Partition } from "./partitions.js";

export interface VerifiedImage {
	/** From the application descriptor. */
	readonly version: string;
	/** The first of the segments after the descriptors': a virtual device's program. */
	readonly program: Buffer;
	/** The whole image, with its SHA-256. */
	readonly bytes: Buffer;
}

/** @throws Error that says why the image does not start */
export function verifyImage(flash: Flash, slot: Partition): VerifiedImage {
	const { headerBytes, segmentHeaderBytes, mostSegments, paddedTo, digestBytes } = imageLayout;
	const header = flash.read(slot.offset, headerBytes);
	if (header.readUInt8(0) !== imageLayout.magic) throw new Error("no image");
	if (header.readUInt16LE(imageLayout.chipIdOffset) !== chipIds.virtual)
		throw new Error("an image for another chip");
	const segmentCount = header.readUInt8(imageLayout.segmentCountOffset);
	if (segmentCount < 1 || segmentCount > mostSegments) throw new Error("an impossible number of segments");

	let end: number = headerBytes;
	let checksum: number = imageLayout.checksumSeed;
	const segments: Buffer[] = [];
	for (let index = 0; index < segmentCount; index++) {
		requireRoom(slot, end + segmentHeaderBytes);
		const segmentHeader = flash.read(slot.offset + end, segmentHeaderBytes);
		const length = segmentHeader.readUInt32LE(imageLayout.segmentLengthOffset);
		if (length % 4 !== 0) throw new Error("a segment of an impossible length");
		requireRoom(slot, end + segmentHeaderBytes + length);
		const data = flash.read(slot.offset + end + segmentHeaderBytes, length);
		for (const byte of data) checksum ^= byte;
		segments.push(data);
		end += segmentHeaderBytes + length;
	}
	end += paddedTo - (end % paddedTo);
	requireRoom(slot, end + digestBytes);
	if (flash.read(slot.offset + end - 1, 1).readUInt8() !== checksum) throw new Error("a wrong checksum");
	if (header.readUInt8(imageLayout.hasDigestOffset) === 1) {
		const digest = createHash("sha256").update(flash.read(slot.offset, end)).digest();
		if (!digest.equals(flash.read(slot.offset + end, digestBytes))) throw new Error("a wrong SHA-256");
		end += digestBytes;
	}
	const [descriptor, program] = segments;
	if (!descriptor || descriptor.length < appDescriptor.byteLength || !program)
		throw new Error("an image without a program");
	const bytes = flash.read(slot.offset, end);
	return { version: readText(bytes, appDescriptor.version), program, bytes };
}

function requireRoom(slot: Partition, end: number): void {
	if (end > slot.byteLength) throw new Error("an image longer than its slot");
}
