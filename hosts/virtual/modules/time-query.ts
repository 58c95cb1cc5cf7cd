/** A time server: Node's clock. */

import type { TimeQuery as Interface } from "../../../device/host.js";
import Channel from "./channel.js";

export default class TimeQuery implements Interface {
	readonly #channel: Channel;

	constructor(options: { onTime: (seconds: number | undefined) => void }) {
		this.#channel = new Channel("time", {}, (_event, seconds) => {
			this.#channel.close();
			options.onTime(typeof seconds === "number" ? seconds : undefined);
		});
	}

	close(): void {
		this.#channel.close();
	}
}
