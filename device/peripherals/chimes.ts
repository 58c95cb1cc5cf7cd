/** The chimes, resources of raw samples made by `scripts/assets/chimes.ts`. */

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
	#samples: Uint8Array | undefined;
	#taken = 0;

	constructor(chime: Chime) {
		this.#chime = chime;
		this.uri = `file:///chimes/${chime}`;
	}

	get taken(): number {
		return this.#taken;
	}

	/** @throws Error where the resource is missing */
	get available(): number {
		this.#samples ??= new Uint8Array(new Resource(`${this.#chime}.maud`), headerBytes);
		return this.#samples.byteLength - this.#taken;
	}

	take(byteCount: number): Uint8Array {
		const start = this.#taken;
		this.#taken += Math.min(byteCount, this.available);
		return this.#samples?.subarray(start, this.#taken) ?? new Uint8Array(0);
	}

	release(): void {}

	rewind(position: number): void {
		this.#taken = position;
	}
}
