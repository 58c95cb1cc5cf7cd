/**
 * Sends a firmware binary, or the part of it that was asked for (RFC 9110, sections 8, 13 and 14), with the digests of
 * RFC 9530. A device fetches block by block and writes a block only if its digest matches: a wrong range, digest or
 * condition here costs it the update.
 */

import { createHash } from "node:crypto";
import type { Request, Response } from "express";
import { HttpProblem } from "./http-problem.js";
import type { ImageFile } from "./image-files.js";

export interface BinaryOptions {
	/** The name under which a browser saves it. */
	readonly filename: string;
	/** "no-cache": it may change at any time; "max-age=<seconds>": it does not. */
	readonly caching: string;
}

/** First and last byte, both included. */
interface Span {
	readonly first: number;
	readonly last: number;
}

/**
 * Answers a GET or HEAD.
 *
 * @throws {HttpProblem} 412, 416
 */
export function sendBinary(
	request: Request,
	response: Response,
	file: ImageFile,
	options: BinaryOptions,
): void {
	const etag = `"${file.sha256}"`;
	const lastModified = file.modifiedAt.toUTCString();
	const ifMatch = request.get("If-Match");
	if (ifMatch !== undefined && !names(ifMatch, etag))
		throw new HttpProblem(412, "The firmware has been replaced.");
	const unchanged = isUnchanged(request, etag, lastModified);
	const span = unchanged ? undefined : requestedSpan(request, file.bytes.length, [etag, lastModified]);

	response.set({
		"Accept-Ranges": "bytes",
		"Cache-Control": `private, ${options.caching}, no-transform`,
		ETag: etag,
		"Last-Modified": lastModified,
		"Repr-Digest": digestField(Buffer.from(file.sha256, "hex")),
	});
	if (unchanged) {
		response.status(304).end();
		return;
	}
	response.attachment(options.filename).set("X-Content-Type-Options", "nosniff");
	if (request.method === "HEAD") {
		// The digest of no content: RFC 9530, appendix B.2.
		response.set({
			"Content-Length": String(file.bytes.length),
			"Content-Digest": contentDigest(Buffer.alloc(0)),
		});
		response.end();
	} else if (span) {
		const part = file.bytes.subarray(span.first, span.last + 1);
		response.status(206).set({
			"Content-Length": String(part.length),
			"Content-Range": `bytes ${span.first}-${span.last}/${file.bytes.length}`,
			"Content-Digest": digestField(file.parts.of(span.first, span.last)),
		});
		response.end(part);
	} else {
		response.set("Content-Length", String(file.bytes.length));
		response.set("Content-Digest", digestField(Buffer.from(file.sha256, "hex"))).end(file.bytes);
	}
}

/** RFC 9110, 13.1.2 and 13.1.3: If-None-Match counts alone where it is there. */
function isUnchanged(request: Request, etag: string, lastModified: string): boolean {
	const ifNoneMatch = request.get("If-None-Match");
	if (ifNoneMatch !== undefined) return names(ifNoneMatch.replaceAll("W/", ""), etag);
	return Date.parse(lastModified) <= Date.parse(request.get("If-Modified-Since") ?? "");
}

/**
 * RFC 9110, 14.2: a Range that is malformed, of several parts, of another unit or for a former version is ignored, and
 * the whole is sent; one that lies beyond the end is refused. It means nothing in a HEAD.
 *
 * @param validators an If-Range must be one of these
 */
function requestedSpan(request: Request, size: number, validators: readonly string[]): Span | undefined {
	const [, from, to] = /^bytes=(\d*)-(\d*)$/i.exec(request.get("Range") ?? "") ?? [];
	if (request.method !== "GET" || from === undefined || to === undefined) return undefined;
	if (from === "" ? to === "" : to !== "" && Number(to) < Number(from)) return undefined;
	const ifRange = request.get("If-Range");
	if (ifRange !== undefined && !validators.includes(ifRange)) return undefined;

	const first = from === "" ? Math.max(0, size - Number(to)) : Number(from);
	const last = from === "" || to === "" ? size - 1 : Math.min(Number(to), size - 1);
	if (first < size) return { first, last };
	const detail = `The firmware has ${size} bytes; nothing lies in the range that was asked for.`;
	throw new HttpProblem(416, detail, { "Content-Range": `bytes */${size}` });
}

/** Whether a list of entity tags names this one. */
function names(list: string, etag: string): boolean {
	return list.split(",").some((tag) => tag.trim() === etag || tag.trim() === "*");
}

function contentDigest(content: Uint8Array): string {
	return digestField(createHash("sha256").update(content).digest());
}

/** A dictionary with one member, a byte sequence: RFC 9530, section 2; RFC 8941, section 3.3.5. */
function digestField(sha256: Buffer): string {
	return `sha-256=:${sha256.toString("base64")}:`;
}
