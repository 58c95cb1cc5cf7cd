/**
 * Sends firmware binaries, or the part that was asked for (RFC 9110, sections 8, 13 and 14), with the digests of RFC 9530.
 * A device fetches block by block and writes a block only if its digest matches: a wrong range, digest or condition here
 * costs it the update. It also reads each header of each block byte by byte, so a block has no header that it can do without.
 */

import { createHash } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { create as contentDisposition } from "content-disposition";
import type { Access } from "../access/access.js";
import { parseUrl } from "../access/origin.js";
import { sendProblem } from "../problem.js";
import type { AnswerError } from "./answer-error.js";
import { HttpProblem, wrongMethod } from "./http-problem.js";
import type { ImageFile } from "./image-files.js";
import type { Library } from "./library.js";

export interface BinariesOptions {
	readonly library: Library;
	readonly access: Pick<Access, "check">;
	readonly answerError: AnswerError;
}

/** Answers a request for a binary. @returns false where its address is no binary's */
export type Binaries = (request: IncomingMessage, response: ServerResponse) => boolean;

interface Binary {
	readonly file: ImageFile;
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

const uploadPath = "/ota/firmware.bin";
const releasesPath = "/releases/";
/** The addresses of binaries, for who lists the gateway's routes. */
export const binaryPaths: readonly string[] = [uploadPath, `${releasesPath}{path}`];
const yearInSeconds = 31_536_000;
/** A device shows its token with each block: the disk need not be asked each time whether it was ended. */
const tokenAgeMs = 1000;

/** Stands before Express, which takes longer over a request than sending a block does. */
export function createBinaries({ library, access, answerError }: BinariesOptions): Binaries {
	const open = async (path: string): Promise<Binary> => {
		if (path === uploadPath) {
			const found = await library.openUpload();
			if (!found) throw new HttpProblem(404, "No firmware was uploaded yet; POST one to /ota/upload.");
			return { file: found.file, filename: found.upload.filename, caching: "no-cache" };
		}
		const file = await library.openRelease(decodeURIComponent(path));
		if (!file) throw new HttpProblem(404, "The catalog names no such file; see /ota/catalog.");
		const filename = path.slice(path.lastIndexOf("/") + 1);
		return { file, filename, caching: `max-age=${yearInSeconds}, immutable` };
	};
	const answer = async (request: IncomingMessage, response: ServerResponse, path: string) => {
		const { method } = request;
		if (method !== "GET" && method !== "HEAD") throw wrongMethod(method, "GET, HEAD");
		const { refusal } = await access.check(request, ["device", "monitor"], tokenAgeMs);
		if (refusal) sendProblem(response, refusal);
		else send(request, response, await open(path));
	};
	return (request, response) => {
		const path = pathOf(request.url ?? "");
		if (path !== uploadPath && !path.startsWith(releasesPath)) return false;
		answer(request, response, path).catch((error: unknown) => answerError(error, response));
		return true;
	};
}

/** Of a request target, which a proxy may send with scheme and host (RFC 9112, 3.2.2). */
function pathOf(target: string): string {
	if (!target.startsWith("/")) return parseUrl(target)?.pathname ?? "";
	const query = target.indexOf("?");
	return query < 0 ? target : target.slice(0, query);
}

/** @throws {HttpProblem} 412, 416 */
function send(request: IncomingMessage, response: ServerResponse, { file, filename, caching }: Binary): void {
	const { headers } = request;
	const etag = `"${file.sha256}"`;
	const lastModified = file.modifiedAt.toUTCString();
	const ifMatch = headers["if-match"];
	if (ifMatch !== undefined && !names(ifMatch, etag))
		throw new HttpProblem(412, "The firmware has been replaced.");
	const isUnchanged = wasSeen(headers, etag, lastModified);
	// A Range means nothing in a HEAD.
	const isWhole = isUnchanged || request.method === "HEAD" || headers.range === undefined;
	const span = isWhole ? undefined : requestedSpan(headers, file.bytes.length, [etag, lastModified]);
	const fields = ["Cache-Control", `private, ${caching}, no-transform`, "ETag", etag];
	// Whoever sends If-Range has the others already (RFC 9110, 15.3.7).
	if (!span || headers["if-range"] === undefined) {
		fields.push(
			...["Accept-Ranges", "bytes", "Last-Modified", lastModified],
			...["Repr-Digest", digestField(Buffer.from(file.sha256, "hex"))],
			...["Content-Disposition", contentDisposition(filename), "Content-Type", "application/octet-stream"],
			...["X-Content-Type-Options", "nosniff"],
		);
	}
	if (isUnchanged) {
		response.writeHead(304, fields).end();
		return;
	}
	const part = span ? file.bytes.subarray(span.first, span.last + 1) : file.bytes;
	fields.push("Content-Length", String(part.length));
	if (span) fields.push("Content-Range", `bytes ${span.first}-${span.last}/${file.bytes.length}`);
	// In an answer to HEAD it is the digest of no content (RFC 9530, appendix B.2).
	const { first, last } = span ?? { first: 0, last: file.bytes.length - 1 };
	const digest = request.method === "HEAD" ? sha256Of("") : file.parts.of(first, last);
	fields.push("Content-Digest", digestField(digest));
	response.writeHead(span ? 206 : 200, fields).end(part);
}

/** RFC 9110, 13.1.2 and 13.1.3: If-None-Match counts alone where it is there. */
function wasSeen(headers: IncomingHttpHeaders, etag: string, lastModified: string): boolean {
	const ifNoneMatch = headers["if-none-match"];
	if (ifNoneMatch !== undefined) return names(ifNoneMatch.replaceAll("W/", ""), etag);
	const since = headers["if-modified-since"];
	return since !== undefined && Date.parse(lastModified) <= Date.parse(since);
}

/**
 * RFC 9110, 14.2: a Range that is malformed, of several parts, of another unit or for a former version is ignored, and
 * the whole is sent; one that lies beyond the end is refused.
 *
 * @param validators an If-Range must be one of these
 */
function requestedSpan(
	headers: IncomingHttpHeaders,
	size: number,
	validators: readonly string[],
): Span | undefined {
	const [, from, to] = /^bytes=(\d*)-(\d*)$/i.exec(headers.range ?? "") ?? [];
	if (from === undefined || to === undefined) return undefined;
	if (from === "" ? to === "" : to !== "" && Number(to) < Number(from)) return undefined;
	const ifRange = headers["if-range"];
	if (ifRange !== undefined && !validators.includes(String(ifRange))) return undefined;

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

function sha256Of(content: string): Buffer {
	return createHash("sha256").update(content).digest();
}

/** A dictionary with one member, a byte sequence: RFC 9530, section 2; RFC 8941, section 3.3.5. */
function digestField(sha256: Buffer): string {
	return `sha-256=:${sha256.toString("base64")}:`;
}
