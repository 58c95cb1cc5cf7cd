/**
 * Reads a written image back from flash and compares it with the SHA-256 that the image carries: the proof that the slot holds
 * what was made, whatever happened on the way, and the only one where the server sends no digests. It goes block by block, a
 * turn each, so that commands are answered meanwhile. Bytes behind the image's own end are not read: ESP-IDF's check of the
 * slot (esp_image_verify in esp_image_format.c, called by esp_ota_end) ignores them too.
 */

import Timer from "timer";
import type { Digest, Part, UpdateSlot } from "../host.js";
import { imageLayout } from "../protocol/image.js";

export interface ReadBackOptions {
	readonly slot: UpdateSlot;
	readonly sha256: Part<object, Digest>;
	/** Where the SHA-256 of all bytes before it stands. */
	readonly digestOffset: number;
	/** Used until the end. */
	readonly buffer: Uint8Array;
	/** Undefined: it is as it was made. Else a sentence that says what is wrong. */
	readonly onEnd: (reason: string | undefined) => void;
}

export class ReadBack {
	readonly #options: ReadBackOptions;
	readonly #digest: Digest;
	#offset = 0;

	constructor(options: ReadBackOptions) {
		this.#options = options;
		this.#digest = new options.sha256({});
		Timer.set(() => this.#next());
	}

	#next(): void {
		const { slot, buffer, digestOffset, onEnd } = this.#options;
		const left = digestOffset - this.#offset;
		let reason: string | undefined;
		try {
			if (left > 0) {
				const block = buffer.subarray(0, Math.min(left, buffer.byteLength));
				slot.read(block, this.#offset);
				this.#digest.write(block);
				this.#offset += block.byteLength;
				Timer.set(() => this.#next());
				return;
			}
			const appended = buffer.subarray(0, imageLayout.digestBytes);
			slot.read(appended, digestOffset);
			const computed = new Uint8Array(this.#digest.close());
			if (!computed.every((byte, index) => byte === appended[index]))
				reason = "The firmware is damaged: its SHA-256 does not match its content.";
		} catch (error) {
			reason = `The firmware cannot be read back from flash: ${error}`;
		}
		onEnd(reason);
	}
}
