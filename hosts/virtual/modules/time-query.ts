/** A time server: Node's clock. */

import type { TimeQuery as Interface, TimeQueryOptions } from "../../../device/host.js";
import Channel from "./channel.js";

export default class TimeQuery implements Interface {
	readonly #channel: Channel;

	constructor({ server, onTime }: TimeQueryOptions) {
		this.#channel = new Channel("time", { server }, (_event, seconds) => {
			this.#channel.close();
			onTime(typeof seconds === "number" ? seconds : undefined);
		});
	}

	close(): void {
		this.#channel.close();
	}
}
