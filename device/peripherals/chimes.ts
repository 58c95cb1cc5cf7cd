/** Chimes: resources of raw samples, made from the WAV files in device/chimes. */

import Resource from "Resource";
import type { Chime } from "../protocol/messages.js";
import type { Track } from "./track.js";

/** Moddable's MAUD header (tools/wav2maud.js): 'm', 'a', 1, bits, rate u16, channels, format, samples u32. */
const headerBytes = 12;

export class ChimeTrack implements Track {
	readonly uri: string;
	readonly volume = undefined;
	readonly isWhole = true;
	readonly isReady = true;
	readonly #chime: Chime;
	readonly #silentBytes: number;
	readonly #silence: Uint8Array;
	#samples: Uint8Array | undefined;
	#consumed = 0;
	#heardBytes = 0;

	/** @param silentBytes appended silence; even */
	constructor(chime: Chime, silentBytes = 0) {
		this.#chime = chime;
		this.#silentBytes = silentBytes;
		this.#silence = new Uint8Array(Math.min(silentBytes, 512));
		this.uri = `file:///chimes/${chime}`;
	}

	get consumed(): number {
		return this.#consumed;
	}

	/** @throws Error if the resource is missing */
	get available(): number {
		this.#samples ??= new Uint8Array(new Resource(`${this.#chime}.maud`), headerBytes);
		return this.#samples.byteLength + this.#silentBytes - this.#consumed;
	}

	/** Whether everything but the appended silence was heard. */
	get isHeard(): boolean {
		return this.#samples !== undefined && this.#heardBytes >= this.#samples.byteLength;
	}

	consume(byteCount: number): Uint8Array {
		const maxBytes = Math.min(byteCount, this.available);
		const samples = this.#samples?.subarray(this.#consumed, this.#consumed + maxBytes);
		const bytes = samples?.byteLength ? samples : this.#silence.subarray(0, maxBytes);
		this.#consumed += bytes.byteLength;
		return bytes;
	}

	release(position: number): void {
		this.#heardBytes = position;
	}

	rewind(position: number): void {
		this.#consumed = position;
	}
}
