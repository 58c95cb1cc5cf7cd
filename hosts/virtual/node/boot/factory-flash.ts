/**
 * Factory flash of a virtual device, as `npm run flash` for a board: an image into slot 0, and settings into NVS. Only changes are
 * written, so that updates and stored values survive a restart of the process.
 */

import { createHash } from "node:crypto";
import type { Model } from "../../../../device/protocol/schema.js";
import { makeNvsImage, readNvs, settingsNamespace } from "../../../esp32/nvs-image.js";
import { encodeImage } from "./encode-image.js";
import { type Flash, sectorBytes } from "./flash.js";
import { partitions, slots } from "./partitions.js";

/** In place of ESP-IDF's version. */
export const engineVersion = "XS 13.3 (virtual)";

/**
 * The same content gives the same bytes.
 *
 * @param buildTime seconds since 1970; 0: unknown
 */
export function makeVirtualImage(program: Uint8Array, model: Model, version: string, buildTime = 0): Buffer {
	return encodeImage({
		chip: "virtual",
		model,
		version,
		project: "device-gateway",
		idfVersion: engineVersion,
		buildTime,
		segments: [program],
	});
}

/** In place of the boot loader: digests of the partition layout, of the last factory image, and of the settings given last. */
const marksOffset = 0;
const digestBytes = 32;
const givenMarkOffset = marksOffset + 2 * digestBytes;
const layoutMark = sha256(JSON.stringify(partitions));

/** Does nothing for the image flashed last. Settings stay, unless the partition layout has changed. */
export function flashFactoryImage(flash: Flash, image: Buffer): void {
	if (image.length > slots[0].byteLength) throw new Error("the firmware is longer than its slot");
	const marks = Buffer.concat([layoutMark, sha256(image)]);
	const found = flash.read(marksOffset, marks.length);
	if (found.equals(marks)) return;
	const { offset, byteLength } = partitions.nvs;
	const isSameLayout = found.subarray(0, digestBytes).equals(layoutMark);
	const kept = [offset, givenMarkOffset].map((at) => ({
		at,
		bytes: flash.read(at, at === offset ? byteLength : digestBytes),
	}));
	flash.wipe();
	if (isSameLayout) for (const { at, bytes } of kept) flash.load(at, bytes);
	flash.load(slots[0].offset, image);
	flash.load(marksOffset, marks);
}

/**
 * Does nothing for the settings given last: the device may have got others since (set_settings).
 *
 * @param given an empty value removes a setting, an absent one leaves it
 * @param defaults for what is neither given nor stored
 * @throws {RangeError} if a value does not fit NVS
 */
export function flashSettings(
	flash: Flash,
	given: Readonly<Record<string, string>>,
	defaults: Readonly<Record<string, string>> = {},
): void {
	const stored = readSettings(flash);
	const mark = sha256(JSON.stringify(given));
	if (stored.has("gateway") && flash.read(givenMarkOffset, digestBytes).equals(mark)) return;
	flash.load(givenMarkOffset, mark);
	const values = new Map([...Object.entries(defaults), ...stored]);
	for (const [name, value] of Object.entries(given)) {
		if (value === "") values.delete(name);
		else values.set(name, value);
	}
	if (values.size === stored.size && [...values].every(([name, value]) => stored.get(name) === value)) return;
	const { offset, byteLength } = partitions.nvs;
	const image = makeNvsImage({
		byteLength,
		namespace: settingsNamespace,
		values: Object.fromEntries(values),
	});
	// Copies: the flash keeps the given buffer, and would keep the whole image for one page.
	for (let at = 0; at < byteLength; at += sectorBytes)
		flash.load(offset + at, Buffer.from(image.subarray(at, at + sectorBytes)));
}

/** Also of a device that is off. */
export function readSettings(flash: Flash): Map<string, string> {
	const { offset, byteLength } = partitions.nvs;
	return readNvs(flash.read(offset, byteLength), settingsNamespace);
}

function sha256(data: string | Buffer): Buffer {
	return createHash("sha256").update(data).digest();
}
