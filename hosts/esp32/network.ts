/** Name resolution and time queries. */

import Net from "net";
import SNTP from "sntp";
import Timer from "timer";
import type { ResolveOptions, Resolver, TimeQuery, TimeQueryOptions } from "../../device/host.js";

/** Resolves names through the DNS servers from DHCP, and `.local` names through mDNS. */
export class SystemResolver implements Resolver {
	resolve(options: ResolveOptions): void {
		const { host, onResolved, onError } = options;
		if (/^\d+\.\d+\.\d+\.\d+$/.test(host)) {
			// The SDK resolves names sequentially; an address literal must not wait for them.
			Timer.set(() => withoutExceptions(lookup, () => onResolved(host, host)));
			return;
		}
		try {
			Net.resolve(host, (_name, address) =>
				withoutExceptions(lookup, () => {
					if (address) onResolved(host, address);
					else onError();
				}),
			);
		} catch (error) {
			trace(`${lookup} failed: ${error}\n`);
			Timer.set(() => withoutExceptions(lookup, onError));
		}
	}
}

/** Logs exceptions: one that leaves a callback restarts the board. */
function withoutExceptions(what: string, action: () => void): void {
	try {
		action();
	} catch (error) {
		trace(`${what} failed: ${error}\n`);
	}
}

const defaultServer = "pool.ntp.org";
/** Names in the trace. */
const lookup = "DNS lookup";
const query = "SNTP query";

/** Queries a time server. The SDK's SNTP client gives up after 25 s. */
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
			trace(`${query} failed: ${error}\n`);
			// Deferred, because the caller does not have this object yet.
			Timer.set(() => this.#end(undefined));
		}
	}

	close(): void {
		if (this.#isOver) return;
		this.#isOver = true;
		withoutExceptions(query, () => this.#sntp?.close());
	}

	/** Reports the result; the SDK has already closed its query. */
	#end(seconds: number | undefined): void {
		if (this.#isOver) return;
		this.#isOver = true;
		withoutExceptions(query, () => this.#onTime(seconds));
	}
}
