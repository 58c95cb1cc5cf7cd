/**
 * The layout of a firmware image: ESP-IDF's application image (esp_app_format.h, esp_app_desc.h) with this project's
 * descriptor after ESP-IDF's (hosts/esp32/board-descriptor.c). In bytes, little-endian, strings padded with NUL.
 */

import type { Chip } from "./messages.js";

/** `chip_id` of the image header. No chip has the virtual id, so boards refuse such images. */
export const chipIds: Readonly<Record<Chip, number>> = Object.freeze({
	esp32: 0x0000,
	esp32s3: 0x0009,
	virtual: 0xfff0,
});

/** A header, segments with headers, padding that ends with the checksum, and a SHA-256. */
export const imageLayout = Object.freeze({
	magic: 0xe9,
	segmentCountOffset: 0x01,
	chipIdOffset: 0x0c,
	/** Not 0: a SHA-256 of everything up to the checksum follows it. */
	hasDigestOffset: 0x17,
	headerBytes: 24,
	segmentHeaderBytes: 8,
	/** In a segment header. */
	segmentLengthOffset: 4,
	mostSegments: 16,
	/** Exclusive; lengths are multiples of 4. */
	segmentLimit: 0x100_0000,
	/** Xor of this and all segments' bytes. */
	checksumSeed: 0xef,
	/** Never empty; its last byte is the checksum. */
	paddedTo: 16,
	digestBytes: 32,
});

export interface TextField {
	readonly offset: number;
	readonly byteLength: number;
}

/** ESP-IDF's descriptor: the start of the first segment's data. */
export const appDescriptor = Object.freeze({
	offset: 0x20,
	byteLength: 256,
	magic: 0xabcd_5432,
	version: field(0x30, 32),
	project: field(0x50, 32),
	idfVersion: field(0x90, 32),
});

export const ownDescriptor = Object.freeze({
	offset: 0x120,
	byteLength: 64,
	/** "DAG1" */
	magic: 0x3147_4144,
	sizeOffset: 0x124,
	model: field(0x128, 16),
	version: field(0x138, 32),
	/** u16, see `imageFlags`. */
	flagsOffset: 0x158,
	/**
	 * u16. A release whose predecessors must not be installed again raises it. Images older than this field have 0,
	 * since these bytes belonged to their flags.
	 */
	securityVersionOffset: 0x15a,
	/** u32, seconds since 1970; 0: unknown. */
	buildTimeOffset: 0x15c,
});

export const imageFlags = Object.freeze({
	/** Settings may be compiled in, as mcconfig does. */
	hasSettings: 1,
});

/** The header, the first segment's, and both descriptors. */
export const headBytes = 0x160;

function field(offset: number, byteLength: number): TextField {
	return Object.freeze({ offset, byteLength });
}

/** Characters other than printable ASCII become "?". */
export function readText(image: Uint8Array, { offset, byteLength }: TextField): string {
	let text = "";
	for (let index = offset; index < offset + byteLength; index++) {
		const byte = image[index] ?? 0;
		if (byte === 0) break;
		text += byte < 0x20 || byte > 0x7e ? "?" : String.fromCharCode(byte);
	}
	return text;
}
