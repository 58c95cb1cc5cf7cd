/**
 * Layout of a firmware image: ESP-IDF's application image (esp_app_format.h, esp_app_desc.h) with this project's
 * descriptor after ESP-IDF's (hosts/esp32/board-descriptor.c). Little-endian; strings are padded with NUL.
 */

import { type Chip, chips } from "./messages.js";

/** `chip_id` of the image header. No chip has the virtual id, so boards reject images of virtual devices. */
export const chipIds: Readonly<Record<Chip, number>> = Object.freeze({
	esp32: 0x0000,
	esp32s3: 0x0009,
	"esp32s3-qemu": 0x0009,
	virtual: 0xfff0,
});

/** Header, segments with headers, padding that ends with the checksum, and a SHA-256. Offsets and lengths in bytes. */
export const imageLayout = Object.freeze({
	magic: 0xe9,
	segmentCountOffset: 0x01,
	chipIdOffset: 0x0c,
	/** If not 0, a SHA-256 of everything up to the checksum follows the checksum. */
	hasDigestOffset: 0x17,
	headerBytes: 24,
	segmentHeaderBytes: 8,
	/** Offset within a segment header. */
	segmentLengthOffset: 4,
	maxSegments: 16,
	/** Exclusive; lengths are multiples of 4. */
	segmentLimit: 0x100_0000,
	/** The checksum is the XOR of this and all bytes of the segments. */
	checksumSeed: 0xef,
	/** Alignment of the padding, which is never empty and ends with the checksum. */
	paddedTo: 16,
	digestBytes: 32,
});

export interface TextField {
	readonly offset: number;
	readonly byteLength: number;
}

/** ESP-IDF's descriptor, at the start of the first segment's data. */
export const appDescriptor = Object.freeze({
	offset: 0x20,
	byteLength: 256,
	magic: 0xabcd_5432,
	version: field(0x30, 32),
	project: field(0x50, 32),
	idfVersion: field(0x90, 32),
	/** First bytes of `app_elf_sha256`, which identify an image; zeros: unknown. */
	imageId: field(0xb0, 8),
});

/** This project's descriptor, after ESP-IDF's. */
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
	 * u16. Raised by a release whose predecessors must not be installed again. 0 in images from before this field, whose
	 * flags used these bytes.
	 */
	securityVersionOffset: 0x15a,
	/** u32, seconds since 1970, of a virtual device's image; 0: unknown. */
	buildTimeOffset: 0x15c,
});

export const imageFlags = Object.freeze({
	/** Settings may be compiled in by mcconfig. */
	hasSettings: 1,
	/** The image is for QEMU, where network and console differ: its chip is "esp32s3-qemu". */
	isForQemu: 2,
});

/** Length of the image header, the first segment header and both descriptors. */
export const headBytes = 0x160;

function field(offset: number, byteLength: number): TextField {
	return Object.freeze({ offset, byteLength });
}

/** Finds the chip of an image. @param id `chip_id` @param flags flags of this project's descriptor @returns undefined if unknown */
export function findChip(id: number, flags: number): Chip | undefined {
	const isForQemu = (flags & imageFlags.isForQemu) !== 0;
	return chips.find((chip) => chipIds[chip] === id && chip.endsWith("-qemu") === isForQemu);
}

/** Reads a string up to the first NUL; characters other than printable ASCII become "?". */
export function readText(image: Uint8Array, { offset, byteLength }: TextField): string {
	let text = "";
	for (let index = offset; index < offset + byteLength; index++) {
		const byte = image[index] ?? 0;
		if (byte === 0) break;
		text += byte < 0x20 || byte > 0x7e ? "?" : String.fromCharCode(byte);
	}
	return text;
}
