/** Header fields of HTTP requests and responses. */

import type { Url } from "./url.js";

/** Content-Range (RFC 9110, 14.4). Both offsets are inclusive. */
export interface ContentRange {
	readonly first: number;
	readonly last: number;
	readonly total: number;
}

/** @returns undefined if missing, malformed or without a total */
export function readContentRange(field: string | undefined): ContentRange | undefined {
	const match = /^bytes (\d{1,10})-(\d{1,10})\/(\d{1,10})$/i.exec(field ?? "");
	if (!match) return undefined;
	const range = { first: Number(match[1]), last: Number(match[2]), total: Number(match[3]) };
	return range.first <= range.last && range.last < range.total ? range : undefined;
}

export function readContentLength(field: string | undefined): number | undefined {
	return field !== undefined && /^\d{1,10}$/.test(field) ? Number(field) : undefined;
}

/** @returns the SHA-256 of a Content-Digest (RFC 9530, 2) in base64; undefined if missing, "" if malformed */
export function readSha256(field: string | undefined): string | undefined {
	const key = "sha-256=:";
	const start = field?.toLowerCase().indexOf(key) ?? -1;
	if (field === undefined || start < 0) return undefined;
	const end = field.indexOf(":", start + key.length);
	return end < 0 ? "" : field.slice(start + key.length, end);
}

/**
 * Creates the fields of a request for a file or a range of it.
 * @param base other fields @param range `bytes=…`; undefined: the whole file @param etag of earlier responses
 */
export function requestFields(base: Iterable<readonly [string, string]>, range?: string, etag?: string) {
	const fields = new Map(base);
	fields.set("accept-encoding", "identity");
	if (range === undefined) return fields;
	fields.set("range", range);
	// Weak tags are not allowed in If-Range (RFC 9110, 13.1.5).
	if (etag && !etag.startsWith("W/")) fields.set("if-range", etag);
	return fields;
}

/** Formats the head of a GET request (RFC 9112, 3). */
export function requestHead({ host, port, path }: Url, fields: Iterable<readonly [string, string]>): string {
	let text = `GET ${path} HTTP/1.1\r\nhost: ${host}:${port}\r\n`;
	for (const [name, value] of fields) text += `${name}: ${value}\r\n`;
	return `${text}\r\n`;
}
