/**
 * Reads a written image back from flash and compares it with its SHA-256: the only end-to-end check if the server sends no digests.
 * Each block is read in its own turn, so that commands are answered meanwhile.
 */

import Timer from "timer";
import type { Digest, Part, UpdateSlot } from "../host.js";
import { imageLayout } from "../protocol/image.js";

export interface ReadBackOptions {
	readonly slot: UpdateSlot;
	readonly sha256: Part<object, Digest>;
	/** The SHA-256 covers all bytes before it. */
	readonly digestOffset: number;
	/** Used until onEnd. */
	readonly buffer: Uint8Array;
	/** @param reason a sentence that says what is wrong; undefined: the image is intact */
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
