/**
 * The layout of a firmware image: ESP-IDF's application image (esp_app_format.h, esp_app_desc.h), with this project's own
 * descriptor behind ESP-IDF's (hosts/esp32/board-descriptor.c). Whoever makes, checks or installs one takes it from here.
 *
 * Offsets are from the image's start unless said otherwise, sizes in bytes, numbers little-endian, texts padded with NUL.
 */

import type { Chip } from "./messages.js";

/** `chip_id` of the image header. No board answers to the virtual one, so none takes such an image. */
export const chipIds: Readonly<Record<Chip, number>> = Object.freeze({
	esp32: 0x0000,
	esp32s3: 0x0009,
	virtual: 0xfff0,
});

/** A header, segments that each have a header of their own, padding that ends with the checksum, and a SHA-256. */
export const imageLayout = Object.freeze({
	magic: 0xe9,
	segmentCountOffset: 0x01,
	chipIdOffset: 0x0c,
	/** Not 0: the SHA-256 of all bytes up to and including the checksum stands right behind it. */
	hasDigestOffset: 0x17,
	headerBytes: 24,
	segmentHeaderBytes: 8,
	/** From the start of a segment's header. */
	segmentLengthOffset: 4,
	mostSegments: 16,
	/** A segment is shorter than this, and its length a multiple of 4. */
	segmentLimit: 0x100_0000,
	/** All bytes of all segments, one on the other by exclusive or, on top of this. */
	checksumSeed: 0xef,
	/** The checksum is the last byte of the padding to a multiple of this, which is never empty. */
	paddedTo: 16,
	digestBytes: 32,
});

/** A text's place in an image. */
export interface TextField {
	readonly offset: number;
	readonly byteLength: number;
}

/** ESP-IDF's descriptor, with which the first segment's data begins. */
export const appDescriptor = Object.freeze({
	offset: 0x20,
	byteLength: 256,
	magic: 0xabcd_5432,
	version: field(0x30, 32),
	project: field(0x50, 32),
	idfVersion: field(0x90, 32),
});

/** This project's descriptor. */
export const ownDescriptor = Object.freeze({
	offset: 0x120,
	byteLength: 64,
	/** "DAG1" */
	magic: 0x3147_4144,
	/** Where it says its own `byteLength`. */
	sizeOffset: 0x124,
	model: field(0x128, 16),
	version: field(0x138, 32),
	/** u32 of `imageFlags`; those not named there are 0. */
	flagsOffset: 0x158,
	/** When the image was built: seconds since 1970 in 32 bits without a sign; 0: not known. */
	buildTimeOffset: 0x15c,
});

/** What our descriptor says of the build, a bit each. */
export const imageFlags = Object.freeze({
	/** Network, gateway or token may be compiled in: a build by mcconfig alone. */
	hasSettings: 1,
});

/** Header, first segment's header and both descriptors: what says which image it is. */
export const headBytes = 0x160;

function field(offset: number, byteLength: number): TextField {
	return Object.freeze({ offset, byteLength });
}

/** The text up to its first NUL; what is not printable ASCII shows as "?". */
export function readText(image: Uint8Array, { offset, byteLength }: TextField): string {
	let text = "";
	for (let index = offset; index < offset + byteLength; index++) {
		const byte = image[index] ?? 0;
		if (byte === 0) break;
		text += byte < 0x20 || byte > 0x7e ? "?" : String.fromCharCode(byte);
	}
	return text;
}
