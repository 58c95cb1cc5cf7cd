/**
 * A DEV-1's peripherals where there are none: they answer as if all were well, and do nothing. The codec says that it is
 * ready, since an update proves itself by that among other things.
 */

import type { AudioOutput, Codec, DigitalInput, PixelStrip } from "../../device/host.js";

/** Never pressed. */
export class Button implements DigitalInput {
	read(): number {
		return 0;
	}

	close(): void {}
}

export class Ring implements PixelStrip {
	readonly length = 12;

	makeRGB(red: number, green: number, blue: number): number {
		return (red << 16) | (green << 8) | blue;
	}

	setPixel(): void {}

	update(): void {}

	close(): void {}
}

/** Takes whatever is written; when a chime ends is reckoned by the clock, above. */
export class SilentOutput implements AudioOutput {
	start(): void {}

	stop(): void {}

	write(): void {}

	close(): void {}
}

export class SilentCodec implements Codec {
	readonly isReady = true;
	volume = 0;
	isMuted = true;

	check(): void {}

	close(): void {}
}
