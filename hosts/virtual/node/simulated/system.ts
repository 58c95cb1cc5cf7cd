/** System facts, as ESP-IDF reports them on a board. */

import type { Answer, ChannelHandler } from "../channel.js";
import type { PeripheralOptions } from "./hardware.js";

export class System implements ChannelHandler {
	readonly #options: PeripheralOptions;

	constructor(options: PeripheralOptions) {
		this.#options = options;
	}

	onCall(): Answer {
		return { detail: this.#options.hardware.facts };
	}
}
