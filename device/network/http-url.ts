import { splitUrl, type Url } from "./url.js";

/**
 * @param url `http://host[:port]/path` or `https://…`
 * @param what the resource, for the error, e.g. "firmware"
 * @throws Error whose message explains what to change
 */
export function parseHttpUrl(url: string, what: string): Url {
	const parts = splitUrl(url, "http");
	if (!parts || parts.port < 1 || parts.port > 65_535 || parts.path.includes("#"))
		throw new Error(`The ${what}'s address must be http://host:port/path or https://…, not "${url}".`);
	return { ...parts, path: parts.path || "/" };
}
