/**
 * The origin of a request, and the address by which it reached this gateway. Unchecked, any web site could control
 * its visitors' devices: browsers send cookies for any page and let it reach 127.0.0.1.
 */

import type { IncomingMessage } from "node:http";
import { isIP, isIPv4, isIPv6 } from "node:net";
import proxyAddress from "proxy-addr";

/** Whether a proxy is trusted; the peer is hop 0, the proxy before it hop 1. */
export type TrustProxy = (address: string, hop: number) => boolean;

interface Forwarded {
	readonly address: string | undefined;
	readonly scheme: string | undefined;
	readonly host: string | undefined;
}

/** Requests of trusted proxies. */
const forwarded = new WeakMap<IncomingMessage, Forwarded>();

/**
 * Reads X-Forwarded-For, -Proto and -Host of a trusted proxy; call it first. The first value of the latter two
 * counts, as in Express.
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

/** An IPv4-mapped IPv6 address as IPv4. */
export function remoteAddressOf(request: IncomingMessage): string {
	const address = forwarded.get(request)?.address ?? request.socket.remoteAddress ?? "unknown";
	return withoutMapping(address);
}

function withoutMapping(address: string): string {
	return address.replace(/^::ffff:(?=\d+\.)/i, "");
}

/**
 * What rate limits count as one client: an IPv4 address, or an IPv6 /64, all of which one computer may use (RFC
 * 4941).
 */
export function networkOf(address: string): string {
	// Most have no colon: Node's expression for IPv6 takes microseconds to say so.
	if (!address.includes(":")) return address;
	const [bare = ""] = withoutMapping(address).split("%");
	if (!isIPv6(bare)) return bare;
	const [head = "", tail = ""] = new URL(`http://[${bare}]`).hostname.slice(1, -1).split("::");
	const [first, last] = [head, tail].map((part) => part.split(":").filter(Boolean));
	const zeros = Array(8 - (first?.length ?? 0) - (last?.length ?? 0)).fill("0");
	return `${[...(first ?? []), ...zeros, ...(last ?? [])].slice(0, 4).join(":")}::/64`;
}

/** Scheme and host that the client used; this gateway's address if Host is invalid. */
export function reachedAt(request: IncomingMessage): URL {
	const { socket } = request;
	const proxied = forwarded.get(request);
	const isEncrypted = "encrypted" in socket && socket.encrypted === true;
	const scheme = proxied?.scheme ?? (isEncrypted ? "https" : "http");
	const host = proxied?.host ?? request.headers.host ?? "";
	return (
		(/[/?#@\\]/.test(host) ? undefined : parseUrl(`${scheme}://${host}`)) ??
		new URL(`${scheme}://${hostOf(socket.localAddress ?? "127.0.0.1")}:${socket.localPort ?? 80}`)
	);
}

/**
 * Without a final slash: PUBLIC_URL, with a proxy's path and TLS, if the client used its host; otherwise the address
 * that the client used, as a device sends its token to no other.
 */
export function baseUrlOf(request: IncomingMessage, publicUrl: URL | undefined): string {
	const reached = reachedAt(request);
	// With PUBLIC_URL's scheme, to omit its default port.
	const isPublic = publicUrl && parseUrl(`${publicUrl.protocol}//${reached.host}`)?.host === publicUrl.host;
	return trimmed(isPublic ? publicUrl : reached);
}

/** Without a final slash. */
export function trimmed(url: URL): string {
	return url.href.replace(/\/+$/, "");
}

/** For a URL, which has no zone (`fe80::1%eth0`). */
export function hostOf(address: string): string {
	return address.includes(":") ? `[${address.replace(/%.*/, "")}]` : address;
}

/** `localhost`, 127.0.0.0/8 or ::1. */
export function isLoopback(hostname: string): boolean {
	const bare = hostname.replace(/^\[(.*)\]$/, "$1");
	return bare === "localhost" || bare === "::1" || (isIPv4(bare) && bare.startsWith("127."));
}

/**
 * Whether a request comes from this gateway's page, or from a program, without `Origin` and `Sec-Fetch-Site`. A
 * browser always sends the latter (Fetch Metadata, section 2.3).
 */
export function isSameOrigin(request: IncomingMessage, publicUrl: URL | undefined): boolean {
	const { origin, "sec-fetch-site": site = "none" } = request.headers;
	if (origin === undefined) return site === "same-origin" || site === "none";
	const page = parseUrl(origin)?.origin;
	return page !== undefined && (page === reachedAt(request).origin || page === publicUrl?.origin);
}

/** Parses origin-form or absolute-form (RFC 9112, 3.2); the result's host has no meaning. */
export function targetOf({ url = "" }: IncomingMessage): URL | undefined {
	return parseUrl(url.startsWith("/") ? `http://gateway${url}` : url);
}

/** @returns undefined if it is not absolute */
export function parseUrl(text: string): URL | undefined {
	return URL.canParse(text) ? new URL(text) : undefined;
}
