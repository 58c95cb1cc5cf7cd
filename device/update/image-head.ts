/**
 * The head of a firmware image: whether it is one, and one for this device. It is asked before anything is erased, since
 * from the first erased sector on there is only one image left that starts.
 */

import {
	appDescriptor,
	chipIds,
	headBytes,
	imageLayout,
	ownDescriptor,
	readText,
} from "../protocol/image.js";
import type { Chip } from "../protocol/messages.js";
import type { Model } from "../protocol/schema.js";

export interface ImageHead {
	/** Whether the image's last 32 bytes are the SHA-256 of those before. */
	readonly hasDigest: boolean;
}

/**
 * @param bytes from the image's start, at least `headBytes` where it is that long
 * @throws Error whose message says why this image is none for the device
 */
export function readImageHead(bytes: Uint8Array, device: { chip: Chip; model: Model }): ImageHead {
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
	return { hasDigest: bytes[imageLayout.hasDigestOffset] === 1 };
}
