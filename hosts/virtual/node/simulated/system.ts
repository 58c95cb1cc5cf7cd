/** System facts, as ESP-IDF tells them on a board. */

import type { Answer, ChannelHandler } from "../machine.js";
import type { PeripheralOptions } from "./channel.js";

export class System implements ChannelHandler {
	readonly #options: PeripheralOptions;

	constructor(options: PeripheralOptions) {
		this.#options = options;
	}

	onCall(): Answer {
		return { detail: this.#options.hardware.facts };
	}
}
