/**
 * Where a request comes from, and by which name it reached us. A browser sends a person's cookie along with whatever
 * page asks it to, and lets any page talk to 127.0.0.1: without these checks a web site could steer its visitors' devices.
 */

import type { IncomingMessage } from "node:http";
import { isIPv4 } from "node:net";

/** The peer's IP address; an IPv4 address in IPv6 clothes is told as IPv4. */
export function remoteAddressOf(request: IncomingMessage): string {
	return (request.socket.remoteAddress ?? "unknown").replace(/^::ffff:(?=\d+\.)/, "");
}

/** Scheme and host by which the client reached this gateway; our own address where its Host header is no host. */
export function reachedAt(request: IncomingMessage): URL {
	const { socket } = request;
	const scheme = "encrypted" in socket && socket.encrypted === true ? "https" : "http";
	const address = socket.localAddress ?? "127.0.0.1";
	const host = request.headers.host ?? "";
	return (
		(/[/?#@\\]/.test(host) ? undefined : parseUrl(`${scheme}://${host}`)) ??
		new URL(`${scheme}://${hostOf(address)}:${socket.localPort ?? 80}`)
	);
}

/** An IP address as it stands in a URL. */
export function hostOf(address: string): string {
	return address.includes(":") ? `[${address}]` : address;
}

/** Whether only this machine can be meant by that name: `localhost`, 127.0.0.0/8 or ::1. */
export function isLoopback(hostname: string): boolean {
	const bare = hostname.replace(/^\[(.*)\]$/, "$1");
	return bare === "localhost" || bare === "::1" || (isIPv4(bare) && bare.startsWith("127."));
}

/**
 * Whether a request comes from a page of this gateway, or from no page at all: programs send no Origin.
 *
 * @param publicUrl the address that a proxy before this gateway has
 */
export function isSameOrigin(request: IncomingMessage, publicUrl: URL | undefined): boolean {
	const { origin } = request.headers;
	if (origin === undefined) return true;
	const page = parseUrl(origin);
	return page !== undefined && (page.host === reachedAt(request).host || page.origin === publicUrl?.origin);
}

/** @returns undefined where `text` is no absolute URL */
export function parseUrl(text: string): URL | undefined {
	return URL.canParse(text) ? new URL(text) : undefined;
}
