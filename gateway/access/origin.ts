/**
 * Origin of a request, and the address that it used to reach this gateway. Without an origin check, any web site could
 * control its visitors' devices, as browsers let any page send requests with cookies, and to 127.0.0.1.
 */

import type { IncomingMessage } from "node:http";
import { isIP, isIPv4, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";

/** Returns whether a proxy is trusted. The peer is hop 0, the proxy before it hop 1. */
export type TrustProxy = (address: string, hop: number) => boolean;

interface Forwarded {
	readonly address: string | undefined;
	readonly scheme: string | undefined;
	readonly host: string | undefined;
}

/** Values forwarded by trusted proxies, by request. */
const forwarded = new WeakMap<IncomingMessage, Forwarded>();

/**
 * Reads the headers of a trusted proxy. Must be called before other functions of this file. `Forwarded` (RFC 7239) is ignored, as
 * proxies that set the X-Forwarded headers pass on the client's.
 *
 * @returns whether the request comes from a trusted proxy
 */
export function readForwarded(request: IncomingMessage, trust: TrustProxy): boolean {
	const { socket, headers } = request;
	if (!trust(socket.remoteAddress ?? "", 0)) return false;
	const list = (name: string) => listOf(headers[name]);
	// Azure Application Gateway replaces Host, and sets X-Original-Host.
	const [host = list("x-original-host")[0]] = list("x-forwarded-host");
	const [proto = ""] = list("x-forwarded-proto");
	let address: string | undefined;
	for (const [index, node] of list("x-forwarded-for").reverse().entries()) {
		// Falls back to the proxy's address if the proxy does not forward one.
		address = addressOfNode(node) ?? address;
		if (!trust(addressOfNode(node) ?? node, index + 1)) break;
	}
	forwarded.set(request, { address, scheme: schemes.get(proto.toLowerCase()), host });
	return true;
}

/** Schemes by forwarded scheme. Some proxies, such as Traefik, forward that of a WebSocket. */
const schemes: ReadonlyMap<string, string> = new Map([
	["http", "http"],
	["https", "https"],
	["ws", "http"],
	["wss", "https"],
]);

/** Parses a comma-separated header. Of X-Forwarded-Proto and -Host the first value is used, as in Express. */
function listOf(header: string | string[] | undefined): string[] {
	return String(header ?? "")
		.split(",")
		.map((entry) => entry.trim())
		.filter(Boolean);
}

/** Removes quotes, brackets and port of an address. @returns undefined for another identifier, such as `unknown` */
function addressOfNode(node: string): string | undefined {
	const text = node.replace(/^"(.*)"$/, "$1");
	return [text, text.replace(/:[\w.-]+$/, "")]
		.map((address) => address.replace(/^\[(.*)\]$/, "$1"))
		.find((address) => isIP(address));
}

/** Returns the address of the client, with an IPv4-mapped IPv6 address as IPv4. */
export function remoteAddressOf(request: IncomingMessage): string {
	const address = forwarded.get(request)?.address ?? request.socket.remoteAddress ?? "unknown";
	return withoutMapping(address);
}

function withoutMapping(address: string): string {
	return address.replace(/^::ffff:(?=\d+\.)/i, "");
}

/**
 * Returns the key of a client for rate limits: an IPv4 address, or an IPv6 /64, as one computer may use all of its addresses
 * (RFC 8981).
 */
export function networkOf(address: string): string {
	// Avoids Node's regular expression for IPv6, which takes microseconds, for IPv4 addresses.
	if (!address.includes(":")) return address;
	const [bare = ""] = withoutMapping(address).split("%");
	if (!isIPv6(bare)) return bare;
	return `${ipaddr.IPv6.networkAddressFromCIDR(`${bare}/64`)}/64`;
}

/** Returns scheme and host that the client used, or this gateway's address if Host is invalid. */
export function reachedAt(request: IncomingMessage): URL {
	const { socket } = request;
	const scheme = forwarded.get(request)?.scheme ?? (isEncrypted(request) ? "https" : "http");
	const host = hostHeaderOf(request);
	return (
		(/[/?#@\\]/.test(host) ? undefined : parseUrl(`${scheme}://${host}`)) ??
		new URL(`${scheme}://${hostOf(socket.localAddress ?? "127.0.0.1")}:${socket.localPort ?? 80}`)
	);
}

function isEncrypted({ socket }: IncomingMessage): boolean {
	return "encrypted" in socket && socket.encrypted === true;
}

function hostHeaderOf(request: IncomingMessage): string {
	return forwarded.get(request)?.host ?? request.headers.host ?? "";
}

/**
 * Whether a proxy has omitted the port of Host, as nginx does with `$host`. A client omits only the default port of the scheme, on
 * which this gateway does not listen.
 */
function isPortOmitted(request: IncomingMessage): boolean {
	return (
		!/:\d*$/.test(hostHeaderOf(request)) && request.socket.localPort !== (isEncrypted(request) ? 443 : 80)
	);
}

/**
 * Returns the base URL without a trailing slash: PUBLIC_URL, with the proxy's path and TLS, if the client used its host.
 * Otherwise the address that the client used, as a device sends its token only to that address.
 */
export function baseUrlOf(request: IncomingMessage, publicUrl: URL | undefined): string {
	const reached = reachedAt(request);
	// PUBLIC_URL's scheme determines the default port to omit.
	const isPublic =
		publicUrl &&
		(parseUrl(`${publicUrl.protocol}//${reached.host}`)?.host === publicUrl.host ||
			(reached.hostname === publicUrl.hostname && isPortOmitted(request)));
	return trimmed(isPublic ? publicUrl : reached);
}

/** Removes a trailing slash. */
export function trimmed(url: URL): string {
	return url.href.replace(/\/+$/, "");
}

/** Formats an address as the host of a URL, without an IPv6 zone (`fe80::1%eth0`). */
export function hostOf(address: string): string {
	return address.includes(":") ? `[${address.replace(/%.*/, "")}]` : address;
}

/** Whether a host is `localhost`, in 127.0.0.0/8, or ::1. */
export function isLoopback(hostname: string): boolean {
	const bare = hostname.toLowerCase().replace(/^\[(.*)\]$/, "$1");
	return bare === "localhost" || bare === "::1" || (isIPv4(bare) && bare.startsWith("127."));
}

/**
 * Whether a request comes from this gateway's page, or from a program, which sends neither `Origin` nor `Sec-Fetch-Site`. Browsers
 * always send the latter (Fetch Metadata, section 2.3).
 */
export function isSameOrigin(request: IncomingMessage, publicUrl: URL | undefined): boolean {
	const { origin, "sec-fetch-site": site = "none" } = request.headers;
	if (origin === undefined) return site === "same-origin" || site === "none";
	const page = parseUrl(origin)?.origin;
	return page !== undefined && (page === reachedAt(request).origin || page === publicUrl?.origin);
}

/** Parses a request target in origin-form or absolute-form (RFC 9112, section 3.2). The host of the result is meaningless. */
export function targetOf({ url = "" }: IncomingMessage): URL | undefined {
	return parseUrl(url.startsWith("/") ? `http://gateway${url}` : url);
}

/** @returns undefined if the text is not an absolute URL */
export function parseUrl(text: string): URL | undefined {
	return URL.canParse(text) ? new URL(text) : undefined;
}
