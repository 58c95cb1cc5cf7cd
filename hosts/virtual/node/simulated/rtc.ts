/** The RTC memory, as the firmware reads it. */

import type { Answer, ChannelHandler } from "../channel.js";
import type { RtcMemory } from "../rtc-memory.js";

export class Rtc implements ChannelHandler {
	readonly #memory: RtcMemory;

	constructor({ hardware }: { readonly hardware: { readonly rtc: RtcMemory } }) {
		this.#memory = hardware.rtc;
	}

	onCall(request: string, detail: unknown): Answer | undefined {
		switch (request) {
			case "crash":
				return { detail: this.#memory.crash };
			case "clear":
				this.#memory.clearCrash();
				return undefined;
			case "lineCount":
				return { detail: this.#memory.lineCount };
			case "read":
				return { detail: this.#memory.read(Number(detail)) };
			default:
				throw new Error(`the RTC memory has no request "${request}"`);
		}
	}
}
