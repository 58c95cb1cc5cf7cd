/** One question to a time server, answered once; the SDK's SNTP tries for 25 s. */

import SNTP from "sntp";
import Timer from "timer";
import type { TimeQuery, TimeQueryOptions } from "../../device/host.js";

const defaultServer = "pool.ntp.org";

export class SntpQuery implements TimeQuery {
	readonly #onTime: TimeQueryOptions["onTime"];
	#sntp: SNTP | undefined;
	#isOver = false;

	constructor({ server = defaultServer, onTime }: TimeQueryOptions) {
		this.#onTime = onTime;
		try {
			this.#sntp = new SNTP({ host: server }, (message, value) => {
				if (message === SNTP.time) this.#end(value);
				if (message === SNTP.error) this.#end(undefined);
			});
		} catch (error) {
			trace(`time: ${error}\n`);
			// In a later turn, since the one who asked does not hold this object yet.
			Timer.set(() => this.#end(undefined));
		}
	}

	close(): void {
		if (this.#isOver) return;
		this.#isOver = true;
		try {
			this.#sntp?.close();
		} catch (error) {
			trace(`time: ${error}\n`);
		}
	}

	/** The SDK closes its query by itself after either answer. */
	#end(seconds: number | undefined): void {
		if (this.#isOver) return;
		this.#isOver = true;
		try {
			this.#onTime(seconds);
		} catch (error) {
			trace(`time: ${error}\n`);
		}
	}
}
