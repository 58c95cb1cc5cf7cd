import { splitUrl, type Url } from "./url.js";

/**
 * @param url `ws://host[:port][/path]` or `wss://…`; the default path is `/device`
 * @throws Error whose message explains what to change
 */
export function parseGatewayUrl(url: string): Url {
	const parts = splitUrl(url, "ws");
	if (!parts) throw new Error(`gateway must be ws://host:port/device or wss://…, not "${url}"`);
	const { port, path } = parts;
	if (port < 1 || port > 65_535) throw new Error(`gateway's port must be from 1 to 65535, not ${port}`);
	return { ...parts, path: path === "" || path === "/" ? "/device" : path };
}
