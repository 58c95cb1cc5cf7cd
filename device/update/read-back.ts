/**
 * Reads a written image back from flash, compares it with its SHA-256, the only end-to-end check if the server sends no digests, and
 * hashes the whole for its signature. Each block is read in its own turn, so that commands are answered meanwhile.
 */

import Timer from "timer";
import type { Digest, Part, UpdateSlot } from "../host.js";
import { imageLayout } from "../protocol/image.js";

export interface ReadBackOptions {
	readonly slot: UpdateSlot;
	readonly sha256: Part<object, Digest>;
	/** Up to and including the checksum, which is what the appended SHA-256 covers. */
	readonly contentBytes: number;
	/** Whether a SHA-256 is appended. */
	readonly hasDigest: boolean;
	/** Whether to hash the image with its SHA-256, too. */
	readonly isSigned: boolean;
	/** Used until onEnd. */
	readonly buffer: Uint8Array;
	/**
	 * @param reason a sentence that says what is wrong; undefined: the image is intact
	 * @param sha256 of the image with its appended SHA-256; undefined unless `isSigned`
	 */
	readonly onEnd: (reason: string | undefined, sha256?: ArrayBuffer) => void;
}

export class ReadBack {
	readonly #options: ReadBackOptions;
	/** Of what the appended SHA-256 covers. */
	readonly #content: Digest;
	/** Of the whole image. */
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
		const left = contentBytes - this.#offset;
		let reason: string | undefined;
		let sha256: ArrayBuffer | undefined;
		try {
			if (left > 0) {
				this.#content.write(this.#read(Math.min(left, buffer.byteLength)));
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

	/** The next bytes of the image. */
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
