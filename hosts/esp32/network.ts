/** Name resolution and time queries. */

import { attempt } from "attempt";
import Net from "net";
import SNTP from "sntp";
import Timer from "timer";
import type { TimeQuery, TimeQueryOptions } from "../../device/host.js";

/** Resolves names through the DNS servers from DHCP, and `.local` names through mDNS. */
export function resolve(host: string, onResolved: (address: string | undefined) => void): void {
	if (/^\d+\.\d+\.\d+\.\d+$/.test(host)) {
		// The SDK resolves names sequentially; an address literal must not wait for them.
		Timer.set(() => onResolved(host));
		return;
	}
	const isAsked = attempt("DNS lookup", () => Net.resolve(host, (_name, address) => onResolved(address)));
	if (!isAsked) Timer.set(() => onResolved(undefined));
}

const defaultServer = "pool.ntp.org";
/** Name in the trace. */
const query = "SNTP query";

/** Queries a time server. The SDK's SNTP client gives up after 25 s. */
export class SntpQuery implements TimeQuery {
	readonly #onTime: TimeQueryOptions["onTime"];
	#sntp: SNTP | undefined;
	#isOver = false;

	constructor({ server = defaultServer, onTime }: TimeQueryOptions) {
		this.#onTime = onTime;
		const isAsked = attempt(query, () => {
			this.#sntp = new SNTP({ host: server }, (message, value) => {
				if (message === SNTP.time) this.#end(value);
				if (message === SNTP.error) this.#end(undefined);
			});
		});
		// Deferred, because the caller does not have this object yet.
		if (!isAsked) Timer.set(() => this.#end(undefined));
	}

	close(): void {
		if (this.#isOver) return;
		this.#isOver = true;
		attempt(query, () => this.#sntp?.close());
	}

	/** Reports the result; the SDK has already closed its query. */
	#end(seconds: number | undefined): void {
		if (this.#isOver) return;
		this.#isOver = true;
		attempt(query, () => this.#onTime(seconds));
	}
}
