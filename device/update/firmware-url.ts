import { splitUrl, type Url } from "../network/url.js";

/**
 * @param url `http://host[:port]/path` or `https://…`
 * @throws Error whose message says what to change
 */
export function parseFirmwareUrl(url: string): Url {
	const parts = splitUrl(url, "http");
	if (!parts || parts.port < 1 || parts.port > 65_535 || parts.path.includes("#"))
		throw new Error(`The firmware's address must be http://host:port/path or https://…, not "${url}".`);
	return { ...parts, path: parts.path || "/" };
}
