/** Firmware images for tests: valid ones and ones with a single fault. */

import { createHash } from "node:crypto";
import { encodeImage, type ImageContent } from "../../hosts/virtual/node/boot/encode-image.js";
import { Random } from "./random.js";

const content: ImageContent = {
	chip: "esp32s3",
	model: "DEV-1",
	version: "1.4.0",
	project: "xs_esp32",
	idfVersion: "v6.0",
	segments: [Buffer.from("the program"), Buffer.alloc(70_000, "abcdefg")],
};

/** Valid image for a DEV-1 with the given changes. */
export function makeImage(options: Partial<ImageContent> = {}): Buffer {
	return encodeImage({ ...content, ...options });
}

/** Copy of the image with other bytes at `offset` and the old checksum and SHA-256. */
export function damaged(image: Buffer, offset: number, bytes: string | readonly number[]): Buffer {
	const copy = Buffer.from(image);
	copy.set(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes, offset);
	return copy;
}

/** Copy of the image with other bytes at `offset` and matching checksum and SHA-256. */
export function rewritten(image: Buffer, offset: number, bytes: string | readonly number[]): Buffer {
	const copy = damaged(image, offset, bytes);
	const end = copy.length - 32;
	let checksum = 0xef;
	for (let segment = 0, at = 24; segment < copy.readUInt8(1); segment++) {
		const length = copy.readUInt32LE(at + 4);
		for (const byte of copy.subarray(at + 8, at + 8 + length)) checksum ^= byte;
		at += 8 + length;
	}
	copy[end - 1] = checksum;
	copy.set(createHash("sha256").update(copy.subarray(0, end)).digest(), end);
	return copy;
}

/**
 * Offset of `hash_appended` (ESP-IDF, esp_app_format.h). With 0, bytes after the checksum are not part of the image.
 */
export const hashAppendedOffset = 23;

/** Image without the appended SHA-256 and with `hash_appended` 0. */
export function withoutHash(image: Buffer): Buffer {
	return damaged(image, hashAppendedOffset, [0]).subarray(0, -32);
}

/** Trailing data for an image file, with lengths that a wrong parser would expect and random ones. */
export function trailingData(): readonly Buffer[] {
	const random = new Random(3);
	const lengths = [1, 15, 16, 32, 48, 64, 4096, ...Array.from({ length: 8 }, () => random.between(1, 5000))];
	const noise = lengths.map((length) => Buffer.from(Array.from({ length }, () => random.between(0, 255))));
	// Another image, erased flash, zeros.
	return [...noise, makeImage().subarray(0, 5000), Buffer.alloc(4096, 0xff), Buffer.alloc(32)];
}

/** Boot loader as ESP-IDF builds it: an image with its own descriptor. */
export function makeBootLoader(chip: ImageContent["chip"] = "esp32s3"): Buffer {
	return rewritten(makeImage({ chip, segments: [] }), 0x20, [0x50, 0, 0, 0]);
}

/** Output of `esptool merge_bin` for flashing by cable: boot loader, partition table, application. */
export function makeMergedFlash(chip: "esp32" | "esp32s3"): Buffer {
	const flash = Buffer.alloc(0x10000 + 80_000, 0xff);
	flash.set(makeBootLoader(chip), chip === "esp32" ? 0x1000 : 0);
	flash.set([0xaa, 0x50, 0x01, 0x02], 0x8000);
	flash.set(makeImage({ chip }), 0x10000);
	return flash;
}
