/** URL parsing; XS has no URL class. */

export interface Url {
	readonly isSecure: boolean;
	readonly host: string;
	/** Not range-checked; default 80, with TLS 443. */
	readonly port: number;
	/** Path and query; empty, or beginning with a slash. */
	readonly path: string;
}

/**
 * Splits a URL. Its regular expressions have no unbounded quantifiers: greedy ones take 28 bytes of XS's heap for each
 * character, lazy ones match wrongly.
 *
 * @param scheme without TLS, such as `ws`; URLs of the scheme with an added `s` are secure
 * @returns undefined if the URL is invalid or contains white space
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
