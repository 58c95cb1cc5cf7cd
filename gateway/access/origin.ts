/**
 * The origin of a request, and the address by which it reached this gateway. Unchecked, any web site could control
 * its visitors' devices: browsers send cookies for any page and let it reach 127.0.0.1.
 */

import type { IncomingMessage } from "node:http";
import { isIP, isIPv4, isIPv6 } from "node:net";

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
 * Reads what a trusted proxy says of the client; call it first. `Forwarded` (RFC 7239) counts only without
 * X-Forwarded-For, -Proto and -Host: a proxy that writes those passes on the other as the client sent it.
 */
export function readForwarded(request: IncomingMessage, trust: TrustProxy): void {
	const { socket, headers } = request;
	if (!trust(socket.remoteAddress ?? "", 0)) return;
	const list = (name: string) => listOf(headers[name]);
	const [[proto], [host], [original], nodes] = [
		list("x-forwarded-proto"),
		list("x-forwarded-host"),
		// Azure's Application Gateway, which replaces Host.
		list("x-original-host"),
		list("x-forwarded-for"),
	];
	const isRead = proto !== undefined || host !== undefined || nodes.length > 0;
	const hops = isRead ? nodes.map((node) => new Map([["for", node]])) : elementsOf(headers.forwarded);
	let address: string | undefined;
	let outermost: ReadonlyMap<string, string> | undefined;
	for (const [index, hop] of hops.reverse().entries()) {
		const node = hop.get("for") ?? "unknown";
		// Falls back to the proxy's address if the proxy does not forward one.
		address = addressOfNode(node) ?? address;
		outermost = hop;
		if (!trust(addressOfNode(node) ?? node, index + 1)) break;
	}
	forwarded.set(request, {
		address,
		scheme: schemes.get((proto ?? outermost?.get("proto") ?? "").toLowerCase()),
		host: host ?? outermost?.get("host") ?? original,
	});
}

/** Some proxies, such as Traefik, write the scheme of a WebSocket. */
const schemes: ReadonlyMap<string, string> = new Map([
	["http", "http"],
	["https", "https"],
	["ws", "http"],
	["wss", "https"],
]);

/** The first value of X-Forwarded-Proto and -Host counts, as in Express. */
function listOf(header: string | string[] | undefined): string[] {
	return String(header ?? "")
		.split(",")
		.map((entry) => entry.trim())
		.filter(Boolean);
}

/**
 * Elements of a `Forwarded` header: parameters by their name in lower case (RFC 7239, 4). An open quotation lasts to the
 * end, so that parsing takes linear time.
 */
function elementsOf(header = ""): Map<string, string>[] {
	const elements = header.match(/(?:[^",]|"(?:\\.?|[^"\\])*(?:"|$))+/g) ?? [];
	return elements.map((element) => {
		const pairs = element.matchAll(/(?:^|[;\s])([^\s;=]+)=(?:"((?:\\.?|[^"\\])*)(?:"|$)|([^\s;"]+))/g);
		return new Map(
			[...pairs].map(([, name = "", quoted, plain = ""]) => [
				name.toLowerCase(),
				quoted?.replaceAll(/\\(.)/g, "$1") ?? plain,
			]),
		);
	});
}

/** An address with or without quotes, brackets and port. @returns undefined if it is none, such as `unknown` */
function addressOfNode(node: string): string | undefined {
	const text = node.replace(/^"(.*)"$/, "$1");
	return [text, text.replace(/:[\w.-]+$/, "")]
		.map((each) => each.replace(/^\[(.*)\]$/, "$1"))
		.find((each) => isIP(each));
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
 * Returns the key of a client for rate limits: an IPv4 address, or an IPv6 /64, since one computer may use all of its
 * addresses (RFC 4941).
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
 * Whether a proxy has left out the port of Host, as nginx does with `$host`. A client leaves out the scheme's default
 * port alone, at which this gateway does not listen.
 */
function isPortOmitted(request: IncomingMessage): boolean {
	return (
		!/:\d*$/.test(hostHeaderOf(request)) && request.socket.localPort !== (isEncrypted(request) ? 443 : 80)
	);
}

/**
 * Base URL without a trailing slash: PUBLIC_URL, with a proxy's path and TLS, if the client used its host;
 * otherwise the address that the client used, as a device sends its token to no other.
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

/** For a URL, which has no zone (`fe80::1%eth0`). */
export function hostOf(address: string): string {
	return address.includes(":") ? `[${address.replace(/%.*/, "")}]` : address;
}

/** `localhost`, 127.0.0.0/8 or ::1. */
export function isLoopback(hostname: string): boolean {
	const bare = hostname.toLowerCase().replace(/^\[(.*)\]$/, "$1");
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
