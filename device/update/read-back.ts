/**
 * Reads a written image back from flash, compares it with its SHA-256 (the only end-to-end check if the server sends
 * no digests) and hashes it for the signature. Takes many turns, so that commands are executed in between.
 */

import Timer from "timer";
import type { Digest, Part, UpdateSlot } from "../host.js";
import { imageLayout } from "../protocol/image.js";

const bytesPerTurn = 16 * 1024;

export interface ReadBackOptions {
	readonly slot: UpdateSlot;
	readonly sha256: Part<object, Digest>;
	/** Bytes covered by the appended SHA-256. */
	readonly contentBytes: number;
	/** Whether a SHA-256 is appended. */
	readonly hasDigest: boolean;
	/** Whether to hash the image including its appended SHA-256. */
	readonly isSigned: boolean;
	/** In use until onEnd. */
	readonly buffer: Uint8Array;
	/**
	 * @param reason a sentence that describes the problem, if any
	 * @param sha256 of the image including its appended SHA-256, if `isSigned`
	 */
	readonly onEnd: (reason: string | undefined, sha256?: ArrayBuffer) => void;
}

export class ReadBack {
	readonly #options: ReadBackOptions;
	/** Compared with the appended SHA-256. */
	readonly #content: Digest;
	/** Input of the signature check. */
	readonly #image: Digest | undefined;
	#offset = 0;

	constructor(options: ReadBackOptions) {
		this.#options = options;
		this.#content = new options.sha256({});
		if (options.isSigned) this.#image = new options.sha256({});
		Timer.set(() => this.#next());
	}

	#next(): void {
		const { buffer, contentBytes, onEnd } = this.#options;
		const end = Math.min(contentBytes, this.#offset + bytesPerTurn);
		let reason: string | undefined;
		let sha256: ArrayBuffer | undefined;
		try {
			if (this.#offset < end) {
				while (this.#offset < end)
					this.#content.write(this.#read(Math.min(end - this.#offset, buffer.byteLength)));
				Timer.set(() => this.#next());
				return;
			}
			const computed = new Uint8Array(this.#content.close());
			if (!this.#isAppended(computed))
				reason = "The firmware is damaged: its SHA-256 does not match its content.";
			sha256 = this.#image?.close();
		} catch (error) {
			reason = `The firmware cannot be read back from flash: ${error}`;
		}
		onEnd(reason, sha256);
	}

	#read(byteLength: number): Uint8Array {
		const { slot, buffer } = this.#options;
		const block = buffer.subarray(0, byteLength);
		slot.read(block, this.#offset);
		this.#image?.write(block);
		this.#offset += byteLength;
		return block;
	}

	#isAppended(computed: Uint8Array): boolean {
		if (!this.#options.hasDigest) return true;
		const appended = this.#read(imageLayout.digestBytes);
		return computed.every((byte, index) => byte === appended[index]);
	}
}
