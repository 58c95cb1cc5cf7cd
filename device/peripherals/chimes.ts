/** The chimes, resources of raw samples made by `scripts/assets/chimes.ts`. */

import Resource from "Resource";
import type { Chime } from "../protocol/messages.js";

/** In hertz. */
export const chimeSampleRate = 16_000;

/** Moddable's MAUD header (tools/wav2maud.js): 'm', 'a', 1, bits, rate u16, channels, format, samples u32. */
const headerBytes = 12;

/** Signed 16-bit samples, little-endian, mono. */
export function loadChime(chime: Chime): Uint8Array {
	return new Uint8Array(new Resource(`${chime}.maud`), headerBytes);
}

/** For `audio.current_track`. */
export function chimeUri(chime: Chime): string {
	return `file:///chimes/${chime}`;
}
