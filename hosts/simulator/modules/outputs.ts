/** LED ring and haptic motor, shown on the panel. */

import type { Panel, PanelOptions } from "simulator/panel";
import type { PixelStrip, PulseWidth } from "../../../device/host.js";

/** LED ring. Sends six hexadecimal digits per pixel to the panel. */
export class Ring implements PixelStrip {
	readonly length: number;
	readonly #panel: Panel;
	readonly #pixels: Uint8Array;
	#shown = "";

	constructor(options: Pick<PanelOptions, "panel"> & { readonly length: number }) {
		this.length = options.length;
		this.#panel = options.panel;
		this.#pixels = new Uint8Array(options.length * 3);
	}

	makeRGB(red: number, green: number, blue: number): number {
		return (red << 16) | (green << 8) | blue;
	}

	setPixel(index: number, color: number): void {
		this.#pixels[index * 3] = color >> 16;
		this.#pixels[index * 3 + 1] = color >> 8;
		this.#pixels[index * 3 + 2] = color;
	}

	update(): void {
		const text = this.#pixels.toHex();
		if (text === this.#shown) return;
		this.#shown = text;
		this.#panel.post({ ring: text });
	}
}

const hapticResolution = 10;

export class HapticMotor implements PulseWidth {
	readonly #panel: Panel;

	constructor(options: Pick<PanelOptions, "panel">) {
		this.#panel = options.panel;
	}

	get resolution(): number {
		return hapticResolution;
	}

	write(value: number): void {
		this.#panel.post({ haptics: value / (2 ** hapticResolution - 1) });
	}

	close(): void {}
}
