/**
 * The boot loader's look at an image in a slot: whole, for this chip, unchanged since it was made. It is the last line: what
 * passes here is started. (ESP-IDF: esp_image_verify in esp_image_format.c.)
 */

import { createHash } from "node:crypto";
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

const headerBytes = 24;
const segmentHeaderBytes = 8;
const mostSegments = 16;
const magic = 0xe9;
const checksumSeed = 0xef;
const virtualChip = 0xfff0;

/** @throws Error that says why the image does not start */
export function verifyImage(flash: Flash, slot: Partition): VerifiedImage {
	const header = flash.read(slot.offset, headerBytes);
	if (header.readUInt8(0) !== magic) throw new Error("no image");
	if (header.readUInt16LE(12) !== virtualChip) throw new Error("an image for another chip");
	const segmentCount = header.readUInt8(1);
	if (segmentCount < 1 || segmentCount > mostSegments) throw new Error("an impossible number of segments");

	let end = headerBytes;
	let checksum = checksumSeed;
	const segments: Buffer[] = [];
	for (let index = 0; index < segmentCount; index++) {
		requireRoom(slot, end + segmentHeaderBytes);
		const length = flash.read(slot.offset + end, segmentHeaderBytes).readUInt32LE(4);
		if (length % 4 !== 0) throw new Error("a segment of an impossible length");
		requireRoom(slot, end + segmentHeaderBytes + length);
		const data = flash.read(slot.offset + end + segmentHeaderBytes, length);
		for (const byte of data) checksum ^= byte;
		segments.push(data);
		end += segmentHeaderBytes + length;
	}
	// The checksum is the last byte of the padding to 16.
	end = (end + 16) & ~15;
	requireRoom(slot, end + 32);
	if (flash.read(slot.offset + end - 1, 1).readUInt8() !== checksum) throw new Error("a wrong checksum");
	if (header.readUInt8(23) === 1) {
		const digest = createHash("sha256").update(flash.read(slot.offset, end)).digest();
		if (!digest.equals(flash.read(slot.offset + end, 32))) throw new Error("a wrong SHA-256");
		end += 32;
	}
	const [descriptor, program] = segments;
	if (!descriptor || descriptor.length < 48 || !program) throw new Error("an image without a program");
	return {
		version: descriptor.toString("latin1", 16, 48).replace(/\0.*$/s, ""),
		program,
		bytes: flash.read(slot.offset, end),
	};
}

function requireRoom(slot: Partition, end: number): void {
	if (end > slot.byteLength) throw new Error("an image longer than its slot");
}
