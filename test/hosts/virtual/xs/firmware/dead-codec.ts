/** Replacement of board/es8311: a codec that never responds. */

import type { Codec } from "../../../../../device/host.js";

export class ES8311 implements Codec {
	readonly isReady = false;
	volume = 0;
	isMuted = false;

	check(): void {}
	close(): void {}
}
