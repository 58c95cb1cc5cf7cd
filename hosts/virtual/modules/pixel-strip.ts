/** The LED ring: Moddable's `neopixel` with twelve pixels; each frame goes to Node as bytes, red, green, blue. */

import type { PixelStrip as Strip } from "../../../device/host.js";
import Channel from "./channel.js";

const pixelCount = 12;

export default class PixelStrip implements Strip {
	readonly #channel = new Channel("pixels", { length: pixelCount }, () => {});
	readonly #frame = new Uint8Array(pixelCount * 3);

	get length(): number {
		return pixelCount;
	}

	makeRGB(red: number, green: number, blue: number): number {
		return (red << 16) | (green << 8) | blue;
	}

	setPixel(index: number, colour: number): void {
		this.#frame[index * 3] = colour >> 16;
		this.#frame[index * 3 + 1] = (colour >> 8) & 0xff;
		this.#frame[index * 3 + 2] = colour & 0xff;
	}

	update(): void {
		this.#channel.post("frame", undefined, this.#frame);
	}

	close(): void {
		this.#channel.close();
	}
}
