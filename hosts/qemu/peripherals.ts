/** Peripherals of a DEV-1 that do nothing. The codec is ready, which the confirmation of a new image needs. */

import { boardModels } from "protocol/models";
import type { AudioOutput, Codec, DigitalInput, PixelStrip } from "../../device/host.js";

/** Never pressed. */
export class Button implements DigitalInput {
	read(): number {
		return 0;
	}

	close(): void {}
}

export class Ring implements PixelStrip {
	readonly length = boardModels["DEV-1"].pixels;

	makeRGB(red: number, green: number, blue: number): number {
		return (red << 16) | (green << 8) | blue;
	}

	setPixel(): void {}

	update(): void {}

	close(): void {}
}

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
