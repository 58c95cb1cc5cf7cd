/**
 * DNS resolver for the SDK's WebSocket and HTTP clients that works around two defects: `close()` does not cancel a
 * lookup, and the Host header lacks the port. The clients are given `host:port`, and the port is removed here.
 */

import type { ResolveOptions, Resolver, ResolverPart } from "../host.js";

/** The `dns` option of a client. The client gets no answer once `isCancelled` is set. */
export class LookupTicket {
	isCancelled = false;
	/** Whether the lookup failed, which the clients do not report. */
	hasFailed = false;
	readonly io = Lookup;
	readonly dns: ResolverPart;

	constructor(dns: ResolverPart) {
		this.dns = dns;
	}
}

class Lookup implements Resolver {
	readonly #ticket: LookupTicket;

	constructor(options: object) {
		if (!(options instanceof LookupTicket)) throw new TypeError("options must be a LookupTicket");
		this.#ticket = options;
	}

	resolve(options: ResolveOptions): void {
		const ticket = this.#ticket;
		const resolver = new ticket.dns({});
		resolver.resolve({
			host: hostOf(options.host),
			onResolved: (host, address) => {
				if (!ticket.isCancelled) options.onResolved(host, address);
			},
			onError: () => {
				ticket.hasFailed = true;
				if (!ticket.isCancelled) options.onError();
			},
		});
	}
}

function hostOf(authority: string): string {
	const colon = authority.lastIndexOf(":");
	return colon < 0 ? authority : authority.slice(0, colon);
}
