/**
 * Serves a file from memory, with ranges and conditions (RFC 9110, sections 8, 13 and 14) and digests (RFC 9530). A
 * device verifies the digest of each block of an image, so a wrong range, digest or condition fails its update. It
 * parses headers byte by byte, so responses to devices have only the required ones.
 */

import { createHash } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { create as contentDisposition } from "content-disposition";
import { RequestError } from "../problem.js";

export interface ServedFile {
	readonly content: {
		readonly bytes: Buffer;
		/** Digest in hex. */
		readonly sha256: string;
		/** Returns the SHA-256 of a range in base64; undefined: the response has no Content-Digest. */
		digestOf(first: number, last: number): string | undefined;
	};
	/** MIME type; default: application/octet-stream. */
	readonly type?: string;
	/** Name of the file when a browser saves it. */
	readonly filename: string;
	readonly lastModified: string;
	/** Directives of Cache-Control, `no-cache` or `max-age=<seconds>, immutable`. */
	readonly caching: string;
	/** Whether to leave out headers that only browsers use. */
	readonly isForDevice?: boolean;
}

export const forever = "max-age=31536000, immutable";
const emptyDigest = createHash("sha256").digest("base64");

/** Responds with a file, a range of it, or 304. @throws {RequestError} 412, 416 */
export function sendFile(
	{ headers, method }: IncomingMessage,
	response: ServerResponse,
	file: ServedFile,
): void {
	const { content, type = "application/octet-stream", filename, lastModified, caching, isForDevice } = file;
	const { bytes, sha256 } = content;
	const etag = `"${sha256}"`;
	const ifMatch = headers["if-match"];
	if (ifMatch !== undefined && !matchesTag(ifMatch, etag))
		throw new RequestError(412, "The file has been replaced. Download it again.");
	const isUnchanged = isCached(headers, etag, lastModified);
	// Range applies to GET only (RFC 9110, 14.2).
	const isWholeFile = isUnchanged || method === "HEAD" || headers.range === undefined;
	const span = isWholeFile ? undefined : requestedSpan(headers, bytes.length, [etag, lastModified]);
	if (isForDevice) for (const name of response.getHeaderNames()) response.removeHeader(name);
	const fields = ["Cache-Control", `private, ${caching}, no-transform`, "ETag", etag];
	// A client that sends If-Range already has the other headers (RFC 9110, 15.3.7).
	if (span && headers["if-range"] !== undefined) response.removeHeader("Connection");
	else if (isForDevice) fields.push("Accept-Ranges", "bytes", "Content-Type", type);
	else {
		fields.push(
			...["Accept-Ranges", "bytes", "Last-Modified", lastModified],
			...["Repr-Digest", digestField(Buffer.from(sha256, "hex").toString("base64"))],
			...["Content-Disposition", contentDisposition(filename)],
			...["Content-Type", type, "X-Content-Type-Options", "nosniff"],
		);
	}
	if (isUnchanged) return void response.writeHead(304, fields).end();
	const { first, last } = span ?? { first: 0, last: bytes.length - 1 };
	fields.push("Content-Length", String(last - first + 1));
	if (span) fields.push("Content-Range", `bytes ${first}-${last}/${bytes.length}`);
	// The response to HEAD has no content (RFC 9530, appendix B.2).
	const digest = method === "HEAD" ? emptyDigest : content.digestOf(first, last);
	if (digest) fields.push("Content-Digest", digestField(digest));
	response.writeHead(span ? 206 : 200, fields).end(bytes.subarray(first, last + 1));
}

/** Whether the client has the current version. If-None-Match takes precedence (RFC 9110, 13.1.2 and 13.1.3). */
function isCached(headers: IncomingHttpHeaders, etag: string, lastModified: string): boolean {
	const ifNoneMatch = headers["if-none-match"];
	if (ifNoneMatch !== undefined) return matchesTag(ifNoneMatch.replaceAll("W/", ""), etag);
	const since = headers["if-modified-since"];
	return since !== undefined && Date.parse(lastModified) <= Date.parse(since);
}

/**
 * Parses the Range header (RFC 9110, 14.2). A range that is malformed, has several parts or another unit, or is for a
 * previous version, is ignored. The package range-parser (1.3) rejects the last 500 bytes of 400 and the range 5-2, for
 * which sections 14.1.1 and 14.1.2 require the whole file.
 *
 * @param validators accepted values of If-Range
 * @returns first and last byte, inclusive; undefined: the whole file
 * @throws {RequestError} 416 if the range starts after the end
 */
function requestedSpan(headers: IncomingHttpHeaders, size: number, validators: readonly string[]) {
	const { range = "", "if-range": ifRange } = headers;
	const [, from, to] = /^bytes=(\d*)-(\d*)$/i.exec(range) ?? [];
	if (from === undefined || to === undefined) return undefined;
	if (from === "" ? to === "" : to !== "" && Number(to) < Number(from)) return undefined;
	if (ifRange !== undefined && !validators.includes(String(ifRange))) return undefined;

	const first = from === "" ? Math.max(0, size - Number(to)) : Number(from);
	const last = from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1);
	if (first < size) return { first, last };
	const detail = `The requested range starts after the end of the file, which has ${size} bytes.`;
	throw new RequestError(416, detail, { "Content-Range": `bytes */${size}` });
}

/** Whether a list of entity tags contains this one or `*`. */
function matchesTag(list: string, etag: string): boolean {
	return list.split(",").some((tag) => tag.trim() === etag || tag.trim() === "*");
}

/** Formats a digest header (RFC 9530, section 2; RFC 8941, section 3.3.5). */
function digestField(base64: string): string {
	return `sha-256=:${base64}:`;
}
