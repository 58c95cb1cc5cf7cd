/**
 * Validates a firmware image during the download: that it is for this device, before anything is erased, and that the
 * file is complete. Hashes it for its signature.
 */

import type { Digest } from "../host.js";
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
	readonly #digest: Digest | undefined;
	#received = 0;

	/** @param digest SHA-256 for the signature; undefined: none is required */
	constructor(device: ImageCheckOptions, digest?: Digest) {
		this.#device = device;
		this.#digest = digest;
	}

	/**
	 * @param piece the first one has at least `headBytes` bytes, if the file has
	 * @param fileBytes length of the file
	 * @throws Error that explains why the image is invalid or not for this device
	 */
	write(piece: Uint8Array, fileBytes: number): void {
		if (this.#received === 0) checkHead(piece, this.#device, this.#digest !== undefined);
		const problem = this.#scanner.write(piece);
		if (problem !== undefined) throw new Error(problem);
		if (fileBytes < this.#scanner.minimumBytes) throw new Error(this.#scanner.describeCut(fileBytes));
		const { contentBytes, minimumBytes } = this.#scanner;
		const end = contentBytes === undefined ? fileBytes : minimumBytes;
		this.#digest?.write(piece.subarray(0, Math.max(0, end - this.#received)));
		this.#received += piece.byteLength;
	}

	/** @returns the SHA-256 of the image including the appended one, if a signature is required */
	end(): ArrayBuffer | undefined {
		return this.#digest?.close();
	}
}

function checkHead(bytes: Uint8Array, device: ImageCheckOptions, isSigned: boolean): void {
	if (bytes[0] !== imageLayout.magic) throw new Error("The file is not a firmware image.");
	if (bytes.byteLength < headBytes) throw new Error("The firmware image is truncated in its header.");
	const view = new DataView(bytes.buffer, bytes.byteOffset, headBytes);
	const chip = view.getUint16(imageLayout.chipIdOffset, true);
	const chipProblem = (otherChip: string) =>
		new Error(`The firmware is for another chip (${otherChip}) than this device's, ${device.chip}.`);
	if (chip !== chipIds[device.chip]) throw chipProblem(`0x${chip.toString(16)}`);
	if (
		view.getUint32(appDescriptor.offset, true) !== appDescriptor.magic ||
		view.getUint32(ownDescriptor.offset, true) !== ownDescriptor.magic
	)
		throw new Error("The firmware has no descriptor with its model; it was not built for these devices.");
	const found = findChip(chip, view.getUint16(ownDescriptor.flagsOffset, true));
	if (found !== device.chip) throw chipProblem(found ?? "unknown");
	// The boot loader verifies it, so that what starts is what was signed.
	if (isSigned && bytes[imageLayout.hasDigestOffset] === 0)
		throw new Error("The firmware has no appended SHA-256, which a signature requires.");
	const model = readText(bytes, ownDescriptor.model);
	if (model !== device.model)
		throw new Error(`The firmware is for a ${model}; this device is a ${device.model}.`);
	const securityVersion = view.getUint16(ownDescriptor.securityVersionOffset, true);
	if (securityVersion < device.securityVersion)
		throw new Error(
			`The firmware has the security version ${securityVersion}; this device runs ${device.securityVersion} and accepts none below.`,
		);
}
