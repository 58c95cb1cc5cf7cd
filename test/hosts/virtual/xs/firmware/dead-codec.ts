/** In place of virtual/codec: one that never answers. */

import type { Codec as Interface } from "../../../../../device/host.js";

export default class Codec implements Interface {
	readonly isReady = false;
	volume = 0;
	isMuted = false;

	check(): void {}
	close(): void {}
}
