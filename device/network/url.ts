/** Splits URLs; XS has no URL class. */

export interface Url {
	readonly isSecure: boolean;
	readonly host: string;
	/** 80, or 443 of a secure one, where the URL has none. Not checked. */
	readonly port: number;
	/** With the query; empty, or from its first slash on. */
	readonly path: string;
}

/**
 * Patterns of it have no quantifier without a bound: greedy, XS keeps 28 bytes on the heap for each character; lazy, XS matches other
 * texts than it should.
 *
 * @param scheme of URLs without TLS, such as `ws`; with an `s` they are secure
 * @returns undefined if it is none, or has white space
 */
export function splitUrl(url: string, scheme: "ws" | "http"): Url | undefined {
	const isSecure = url.startsWith(`${scheme}s://`);
	if ((!isSecure && !url.startsWith(`${scheme}://`)) || /\s/.test(url)) return undefined;
	const start = url.indexOf("//") + 2;
	const slash = url.indexOf("/", start);
	const [host = "", digits, ...others] = url.slice(start, slash < 0 ? url.length : slash).split(":");
	const isPort = digits === undefined || /^\d{1,5}$/.test(digits);
	if (host === "" || /[^A-Za-z0-9.-]/.test(host) || !isPort || others.length > 0) return undefined;
	const port = digits === undefined ? (isSecure ? 443 : 80) : Number(digits);
	return { isSecure, host, port, path: slash < 0 ? "" : url.slice(slash) };
}
