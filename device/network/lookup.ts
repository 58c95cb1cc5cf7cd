/**
 * Stands between the SDK's WebSocket and HTTP clients and the host's DNS resolver, for two things they lack. Their
 * `close()` does not call off a name look-up: the socket opens all the same, and nobody knows of it. And they send their
 * `host` option as the Host header without the port, so that a gateway on port 8080 cannot tell how it was reached:
 * therefore they are given `host:port`, and the port is taken off again here.
 */

import type { ResolveOptions, Resolver, ResolverPart } from "../host.js";

/** Handed to a client as its `dns`; the owner sets `isCancelled`, and the client never hears of the answer. */
export class LookupTicket {
	isCancelled = false;
	/** The name was not found, which the clients do not tell from other errors. */
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
		if (!(options instanceof LookupTicket)) throw new TypeError("a LookupTicket is needed");
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
