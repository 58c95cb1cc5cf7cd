/** Parses the URL of a firmware; XS has no URL class. */

export interface FirmwareUrl {
	readonly isSecure: boolean;
	readonly host: string;
	readonly port: number;
	/** With the query. */
	readonly path: string;
}

/**
 * @param url `http://host[:port]/path` or `https://…`
 * @throws Error whose message says what to change
 */
export function parseFirmwareUrl(url: string): FirmwareUrl {
	const match = /^(https?):\/\/([A-Za-z0-9.-]+?)(?::(\d{1,5}))?(\/[^\s#]*?)?$/.exec(url);
	const host = match?.[2];
	const isSecure = match?.[1] === "https";
	const port = match?.[3] === undefined ? (isSecure ? 443 : 80) : Number(match[3]);
	if (!match || !host || port < 1 || port > 65_535)
		throw new Error(`The firmware's address must be http://host:port/path or https://…, not "${url}".`);
	return { isSecure, host, port, path: match[4] ?? "/" };
}
