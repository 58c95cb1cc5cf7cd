/**
 * Checks a firmware image while it arrives: whether it is one for this device, before anything is erased, since from the first
 * erased sector on there is only one image left that starts; and whether the file holds all of it.
 */

import {
	appDescriptor,
	chipIds,
	headBytes,
	imageLayout,
	ownDescriptor,
	readText,
} from "../protocol/image.js";
import { ImageScanner } from "../protocol/image-scanner.js";
import type { Chip } from "../protocol/messages.js";
import type { Model } from "../protocol/schema.js";

export interface ImageCheckOptions {
	readonly chip: Chip;
	readonly model: Model;
}

export class ImageCheck {
	readonly #device: ImageCheckOptions;
	readonly #scanner = new ImageScanner();
	#isHeadChecked = false;

	constructor(device: ImageCheckOptions) {
		this.#device = device;
	}

	/**
	 * Bytes of the image before its SHA-256; undefined where it has none, or before all segment headers have arrived. Bytes
	 * after the SHA-256 are not part of the image.
	 */
	get digestOffset(): number | undefined {
		return this.#scanner.hasDigest ? this.#scanner.contentBytes : undefined;
	}

	/**
	 * Takes the next piece.
	 *
	 * @param piece the first one has at least `headBytes` bytes where the file is that long
	 * @param fileBytes length of the whole file
	 * @throws Error whose message says why this image is not one for the device
	 */
	write(piece: Uint8Array, fileBytes: number): void {
		if (!this.#isHeadChecked) checkHead(piece, this.#device);
		this.#isHeadChecked = true;
		const problem = this.#scanner.write(piece);
		if (problem !== undefined) throw new Error(problem);
		if (fileBytes < this.#scanner.minimumBytes) throw new Error(this.#scanner.describeCut(fileBytes));
	}
}

function checkHead(bytes: Uint8Array, device: ImageCheckOptions): void {
	if (bytes[0] !== imageLayout.magic) throw new Error("What the server sends is no firmware image.");
	if (bytes.byteLength < headBytes) throw new Error("The firmware image is cut off in its head.");
	const view = new DataView(bytes.buffer, bytes.byteOffset, headBytes);
	const chip = view.getUint16(imageLayout.chipIdOffset, true);
	if (chip !== chipIds[device.chip])
		throw new Error(
			`The firmware is for another chip (0x${chip.toString(16)}) than this device's, ${device.chip}.`,
		);
	if (
		view.getUint32(appDescriptor.offset, true) !== appDescriptor.magic ||
		view.getUint32(ownDescriptor.offset, true) !== ownDescriptor.magic
	)
		throw new Error("The firmware does not say for which model it is; it was not made for these devices.");
	const model = readText(bytes, ownDescriptor.model);
	if (model !== device.model)
		throw new Error(`The firmware is for a ${model}; this device is a ${device.model}.`);
}
