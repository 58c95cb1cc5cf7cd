/** Replacement of peripherals/chimes without chimes. */

import type { Track } from "../../../../../device/peripherals/track.js";

export class ChimeTrack implements Track {
	readonly uri: string;
	readonly volume = undefined;
	readonly isWhole = true;
	readonly isReady = true;
	readonly consumed = 0;

	constructor(chime: string) {
		this.uri = `file:///chimes/${chime}`;
	}

	get available(): number {
		throw new Error("there are no chimes");
	}

	consume(): Uint8Array {
		throw new Error("there are no chimes");
	}

	release(): void {}

	rewind(): void {}
}
