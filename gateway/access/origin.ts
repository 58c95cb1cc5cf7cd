/**
 * Where a request comes from, and by which name it reached us. A browser sends a person's cookie along with whatever
 * page asks it to, and lets any page talk to 127.0.0.1: without these checks a web site could steer its visitors' devices.
 */

import type { IncomingMessage } from "node:http";
import { isIP, isIPv4, isIPv6 } from "node:net";
import proxyAddress from "proxy-addr";

/** Whether the proxy at an address is believed; the peer is hop 0, the proxy before it hop 1. */
export type TrustProxy = (address: string, hop: number) => boolean;

/** What a trusted proxy says of a request. */
interface Forwarded {
	readonly address: string | undefined;
	readonly scheme: string | undefined;
	readonly host: string | undefined;
}

/** Only for requests of trusted proxies: for any other the headers count for nothing. */
const forwarded = new WeakMap<IncomingMessage, Forwarded>();

/**
 * Reads X-Forwarded-For, -Proto and -Host, where the peer is a proxy that `trust` believes; to be called before anything
 * else looks at the request. Of several values of -Proto and -Host the first counts, as in Express.
 */
export function readForwarded(request: IncomingMessage, trust: TrustProxy): void {
	if (!trust(request.socket.remoteAddress ?? "", 0)) return;
	const address = proxyAddress(request, trust);
	const scheme = firstOf(request.headers["x-forwarded-proto"]);
	forwarded.set(request, {
		address: isIP(address) ? address : undefined,
		scheme: scheme === "https" || scheme === "http" ? scheme : undefined,
		host: firstOf(request.headers["x-forwarded-host"]),
	});
}

function firstOf(header: string | string[] | undefined): string | undefined {
	return (
		String(header ?? "")
			.split(",")[0]
			?.trim() || undefined
	);
}

/** The client's IP address; an IPv4-mapped IPv6 address is told as IPv4. */
export function remoteAddressOf(request: IncomingMessage): string {
	const address = forwarded.get(request)?.address ?? request.socket.remoteAddress ?? "unknown";
	return withoutMapping(address);
}

function withoutMapping(address: string): string {
	return address.replace(/^::ffff:(?=\d+\.)/i, "");
}

/**
 * What limits by address count as one client: an IPv4 address, mapped or not, or the /64 of an IPv6 address, since one
 * computer may use all of that (RFC 4941).
 */
export function networkOf(address: string): string {
	const [bare = ""] = withoutMapping(address).split("%");
	if (!isIPv6(bare)) return bare;
	const [head = "", tail = ""] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split("::");
	const [first, last] = [head, tail].map((part) => part.split(":").filter(Boolean));
	const zeros = Array(8 - (first?.length ?? 0) - (last?.length ?? 0)).fill("0");
	return `${[...(first ?? []), ...zeros, ...(last ?? [])].slice(0, 4).join(":")}::/64`;
}

/** Scheme and host by which the client reached this gateway; our own address where its Host header is no host. */
export function reachedAt(request: IncomingMessage): URL {
	const { socket } = request;
	const told = forwarded.get(request);
	const isEncrypted = "encrypted" in socket && socket.encrypted === true;
	const scheme = told?.scheme ?? (isEncrypted ? "https" : "http");
	const address = socket.localAddress ?? "127.0.0.1";
	const host = told?.host ?? request.headers.host ?? "";
	return (
		(/[/?#@\\]/.test(host) ? undefined : parseUrl(`${scheme}://${host}`)) ??
		new URL(`${scheme}://${hostOf(address)}:${socket.localPort ?? 80}`)
	);
}

/**
 * The address by which a client reached this gateway, without a slash at its end: PUBLIC_URL where its host is the one that
 * the client named, since only PUBLIC_URL knows a proxy's path and TLS. A client that came by another way stays on that one:
 * a device shows its token to the address that it knows, and to no other.
 */
export function baseUrlOf(request: IncomingMessage, publicUrl: URL | undefined): string {
	const reached = reachedAt(request);
	// Parsed with PUBLIC_URL's scheme, so that its default port is left out of both.
	const isPublic = publicUrl && parseUrl(`${publicUrl.protocol}//${reached.host}`)?.host === publicUrl.host;
	return trimmed(isPublic ? publicUrl : reached);
}

/** A URL without the slash at its end. */
export function trimmed(url: URL): string {
	return url.href.replace(/\/+$/, "");
}

/** An IP address as it stands in a URL, which has no place for the zone of a link-local one (`fe80::1%eth0`). */
export function hostOf(address: string): string {
	return address.includes(":") ? `[${address.replace(/%.*/, "")}]` : address;
}

/** Whether only this machine can be meant by that name: `localhost`, 127.0.0.0/8 or ::1. */
export function isLoopback(hostname: string): boolean {
	const bare = hostname.replace(/^\[(.*)\]$/, "$1");
	return bare === "localhost" || bare === "::1" || (isIPv4(bare) && bare.startsWith("127."));
}

/**
 * Whether a request comes from a page of this gateway, or from no page at all: programs send neither `Origin` nor
 * `Sec-Fetch-Site`. A browser may leave out the first, never the second (Fetch Metadata, section 2.3).
 *
 * @param publicUrl the address that a proxy before this gateway has
 */
export function isSameOrigin(request: IncomingMessage, publicUrl: URL | undefined): boolean {
	const { origin, "sec-fetch-site": site = "none" } = request.headers;
	if (origin === undefined) return site === "same-origin" || site === "none";
	const page = parseUrl(origin)?.origin;
	return page !== undefined && (page === reachedAt(request).origin || page === publicUrl?.origin);
}

/**
 * The URL of a request target in origin-form or absolute-form (RFC 9112, 3.2); its host means nothing.
 *
 * @returns undefined where it is neither
 */
export function targetOf({ url = "" }: IncomingMessage): URL | undefined {
	return parseUrl(url.startsWith("/") ? `http://gateway${url}` : url);
}

/** @returns undefined where `text` is no absolute URL */
export function parseUrl(text: string): URL | undefined {
	return URL.canParse(text) ? new URL(text) : undefined;
}
