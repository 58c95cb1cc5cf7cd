/**
 * Validates a firmware image during the download: that it is for this device, before anything is erased, and that the
 * file is complete.
 */

import {
	appDescriptor,
	chipIds,
	findChip,
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
	/** Security version of the running firmware. */
	readonly securityVersion: number;
}

export class ImageCheck {
	readonly #device: ImageCheckOptions;
	readonly #scanner = new ImageScanner();
	#isHeadChecked = false;

	constructor(device: ImageCheckOptions) {
		this.#device = device;
	}

	/** Bytes up to and including the checksum; undefined until all segment headers have arrived. */
	get contentBytes(): number | undefined {
		return this.#scanner.contentBytes;
	}

	/** Whether a SHA-256 follows the content. */
	get hasDigest(): boolean {
		return this.#scanner.hasDigest;
	}

	/**
	 * @param piece the first one has at least `headBytes` bytes, if the file has
	 * @param fileBytes length of the file
	 * @throws Error that explains why the image is invalid or not for this device
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
	if (bytes[0] !== imageLayout.magic) throw new Error("The file is not a firmware image.");
	if (bytes.byteLength < headBytes) throw new Error("The firmware image is truncated in its header.");
	const view = new DataView(bytes.buffer, bytes.byteOffset, headBytes);
	const chip = view.getUint16(imageLayout.chipIdOffset, true);
	const chipProblem = (given: string) =>
		new Error(`The firmware is for another chip (${given}) than this device's, ${device.chip}.`);
	if (chip !== chipIds[device.chip]) throw chipProblem(`0x${chip.toString(16)}`);
	if (
		view.getUint32(appDescriptor.offset, true) !== appDescriptor.magic ||
		view.getUint32(ownDescriptor.offset, true) !== ownDescriptor.magic
	)
		throw new Error("The firmware has no descriptor with its model; it was not built for these devices.");
	const found = findChip(chip, view.getUint16(ownDescriptor.flagsOffset, true));
	if (found !== device.chip) throw chipProblem(found ?? "unknown");
	const model = readText(bytes, ownDescriptor.model);
	if (model !== device.model)
		throw new Error(`The firmware is for a ${model}; this device is a ${device.model}.`);
	const securityVersion = view.getUint16(ownDescriptor.securityVersionOffset, true);
	if (securityVersion < device.securityVersion)
		throw new Error(
			`The firmware has the security version ${securityVersion}; this device runs ${device.securityVersion} and accepts none below.`,
		);
}
