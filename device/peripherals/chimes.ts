/** The chimes in flash, made by `scripts/assets/chimes.ts`. The build makes a resource of raw samples of each. */

import Resource from "Resource";
import type { Chime } from "../protocol/messages.js";

/** In hertz. */
export const chimeSampleRate = 16_000;

/** Moddable's MAUD header (tools/wav2maud.js): 'm', 'a', 1, bits, rate u16, channels, format, samples u32. */
const headerBytes = 12;

/** @returns samples: signed 16-bit, little-endian, mono */
export function loadChime(chime: Chime): Uint8Array {
	return new Uint8Array(new Resource(`${chime}.maud`), headerBytes);
}

/** @returns `audio.current_track` while the chime plays */
export function chimeUri(chime: Chime): string {
	return `file:///chimes/${chime}`;
}
