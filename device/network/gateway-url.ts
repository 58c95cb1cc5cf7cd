/** Parses the gateway's URL; XS has no URL class. */

export interface GatewayUrl {
	readonly isSecure: boolean;
	readonly host: string;
	readonly port: number;
	readonly path: string;
}

/**
 * @param url `ws://host[:port][/path]` or `wss://…`; the default path is `/device`
 * @throws Error whose message says what to change
 */
export function parseGatewayUrl(url: string): GatewayUrl {
	const match = /^(wss?):\/\/([A-Za-z0-9.-]+?)(?::(\d{1,5}))?(\/\S*?)?$/.exec(url);
	const host = match?.[2];
	if (!match || !host) throw new Error(`gateway must be ws://host:port/device or wss://…, not "${url}"`);
	const isSecure = match[1] === "wss";
	const port = match[3] === undefined ? (isSecure ? 443 : 80) : Number(match[3]);
	if (port < 1 || port > 65_535) throw new Error(`gateway's port must be from 1 to 65535, not ${port}`);
	const path = match[4];
	return { isSecure, host, port, path: path === undefined || path === "/" ? "/device" : path };
}
