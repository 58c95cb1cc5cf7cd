/**
 * The head of a firmware image: whether it is one, and one for this device. It is asked before anything is erased, since
 * from the first erased sector on there is only one image left that starts. (ESP-IDF: esp_app_format.h, esp_app_desc.h.)
 */

import type { Chip } from "../protocol/messages.js";
import type { Model } from "../protocol/schema.js";

/** Header, first segment's header, ESP-IDF's descriptor and ours. */
export const headBytes = 0x160;

const imageMagic = 0xe9;
const chipOffset = 0x0c;
const hashAppendedOffset = 0x17;
const appDescriptorOffset = 0x20;
const appDescriptorMagic = 0xabcd_5432;
const ownDescriptorOffset = 0x120;
/** "DAG1" */
const ownDescriptorMagic = 0x3147_4144;

/** `chip_id` of the image header. No board answers to the virtual one. */
const chipIds = Object.freeze({ esp32: 0x0000, esp32s3: 0x0009, virtual: 0xfff0 });

export interface ImageHead {
	readonly version: string;
	/** Whether the image's last 32 bytes are the SHA-256 of those before. */
	readonly hasDigest: boolean;
}

/**
 * @param bytes from the image's start, at least `headBytes` where it is that long
 * @throws Error whose message says why this image is none for the device
 */
export function readImageHead(bytes: Uint8Array, device: { chip: Chip; model: Model }): ImageHead {
	if (bytes[0] !== imageMagic) throw new Error("What the server sends is no firmware image.");
	if (bytes.byteLength < headBytes) throw new Error("The firmware image is cut off in its head.");
	const view = new DataView(bytes.buffer, bytes.byteOffset, headBytes);
	const chip = view.getUint16(chipOffset, true);
	if (chip !== chipIds[device.chip])
		throw new Error(
			`The firmware is for another chip (0x${chip.toString(16)}) than this device's, ${device.chip}.`,
		);
	if (
		view.getUint32(appDescriptorOffset, true) !== appDescriptorMagic ||
		view.getUint32(ownDescriptorOffset, true) !== ownDescriptorMagic
	)
		throw new Error("The firmware does not say for which model it is; it was not made for these devices.");
	const model = text(bytes, ownDescriptorOffset + 8, 16);
	if (model !== device.model)
		throw new Error(`The firmware is for a ${model}; this device is a ${device.model}.`);
	return {
		version: text(bytes, ownDescriptorOffset + 24, 32),
		hasDigest: bytes[hashAppendedOffset] === 1,
	};
}

/** Up to the first NUL; what is not printable ASCII shows as "?". */
function text(bytes: Uint8Array, offset: number, size: number): string {
	let result = "";
	for (let index = offset; index < offset + size; index++) {
		const byte = bytes[index] ?? 0;
		if (byte === 0) break;
		result += byte < 0x20 || byte > 0x7e ? "?" : String.fromCharCode(byte);
	}
	return result;
}
