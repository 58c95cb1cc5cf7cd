/**
 * What a developer does by cable: an image goes into slot 0 of a blank flash. Done again only where the firmware of this
 * checkout is another one than last time, so that a virtual device keeps an update over a restart of its process, and a
 * changed line of firmware still runs at the next start.
 */

import { createHash } from "node:crypto";
import type { Model } from "../../../../device/protocol/schema.js";
import { encodeImage } from "./encode-image.js";
import type { Flash } from "./flash.js";
import { slots } from "./partitions.js";

/** What the version of ESP-IDF is on a board. */
export const engineVersion = "XS 13.3 (virtual)";

/** A firmware as an image for virtual devices of that model. The same content gives the same bytes. */
export function makeVirtualImage(program: Uint8Array, model: Model, version: string): Buffer {
	return encodeImage({
		chip: "virtual",
		model,
		version,
		project: "device-gateway",
		idfVersion: engineVersion,
		segments: [program],
	});
}

/** Where a board's boot loader lies: here, the digest of what last came by cable. */
const markOffset = 0;

/** Flashes the image, unless it was the last one that came this way. */
export function flashByCable(flash: Flash, image: Buffer): void {
	const mark = createHash("sha256").update(image).digest();
	if (flash.read(markOffset, mark.length).equals(mark)) return;
	if (image.length > slots[0].byteLength) throw new Error("the firmware is longer than its slot");
	flash.wipe();
	flash.load(slots[0].offset, image);
	flash.load(markOffset, mark);
}
