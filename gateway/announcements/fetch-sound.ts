/** Requests to URLs that clients specify, and the check of their addresses: a client must not reach hosts through the gateway. */

import { type LookupAddress, lookup } from "node:dns";
import { once } from "node:events";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { BlockList, isIP, isIPv6, type LookupFunction } from "node:net";
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import { RequestError } from "../problem.js";

const maxRedirects = 5;

export interface FetchOptions {
	readonly signal: AbortSignal;
	/** Whether to connect to an IP address. */
	readonly isAllowed: (address: string) => boolean;
}

/**
 * Requests a file, following redirects.
 * @returns response with a status of 200 to 299
 * @throws {RequestError} 502 for another status
 * @throws {Error} if the server is unreachable or its address is not allowed
 */
export async function fetchSound(url: string, options: FetchOptions): Promise<IncomingMessage> {
	let target = new URL(url);
	for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
		const response = await get(target, options);
		const { statusCode: status = 0, headers } = response;
		if (status >= 200 && status < 300) return response;
		response.destroy();
		if (status < 300 || status >= 400 || headers.location === undefined)
			throw new RequestError(502, `${target.host} responded with status ${status} for this sound.`);
		target = new URL(headers.location, target);
	}
	throw new RequestError(502, `${new URL(url).host} redirects more than ${maxRedirects} times.`);
}

async function get(url: URL, { signal, isAllowed }: FetchOptions): Promise<IncomingMessage> {
	const { get: request } = url.protocol === "https:" ? https : http;
	/** Checks the addresses that are then connected to, so that a name cannot change in between. */
	const checkedLookup: LookupFunction = (name, options, callback) => {
		lookup(name, { ...options, all: true }, (error, found: LookupAddress[] = []) => {
			const [first] = found;
			const forbidden = found.find(({ address }) => !isAllowed(address));
			if (error || forbidden || !first) callback(error ?? notAllowed(forbidden?.address ?? name), []);
			else if (options.all) callback(null, found);
			else callback(null, first.address, first.family);
		});
	};
	const host = url.hostname.replace(/^\[|\]$/g, "");
	// A literal address is not looked up.
	if (isIP(host) && !isAllowed(host)) throw notAllowed(host);
	// A pooled connection would not be looked up either.
	const sent = request(url, { agent: false, lookup: checkedLookup, signal });
	// Reported by the response, too.
	sent.on("error", () => {});
	const [response]: IncomingMessage[] = await once(sent, "response");
	if (!response) throw new TypeError("response event without a response");
	return response;
}

/** Whether an address is a global unicast one (IPv6: in 2000::/3), and in no network of this computer. */
export function isPublic(address: string): boolean {
	const parsed = ipaddr.parse(address);
	const isGlobal = parsed instanceof ipaddr.IPv4 || (parsed.parts[0] ?? 0) >> 13 === 1;
	const own = new BlockList();
	for (const { cidr } of Object.values(networkInterfaces()).flatMap((addresses = []) => addresses)) {
		const [network = "", prefix] = cidr?.split("/") ?? [];
		if (isIP(network)) own.addSubnet(network, Number(prefix), isIPv6(network) ? "ipv6" : "ipv4");
	}
	return isGlobal && parsed.range() === "unicast" && !own.check(address, parsed.kind());
}

function notAllowed(address: string): Error {
	return new Error(`Connections to ${address} are not allowed.`);
}
