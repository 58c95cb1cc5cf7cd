/**
 * Serves firmware binaries, whole or by range (RFC 9110, sections 8, 13 and 14), with the digests of RFC 9530. A
 * device checks each block's digest, so a wrong range, digest or condition fails its update. It parses headers byte
 * by byte, so a block has only those that it needs.
 */

import { createHash } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { create as contentDisposition } from "content-disposition";
import type { Access } from "../access/access.js";
import { parseUrl } from "../access/origin.js";
import { type AnswerError, HttpProblem, sendProblem, wrongMethod } from "../problem.js";
import { type Binary, type FirmwareRepository, uploadPath } from "./repository.js";

/** @returns false if the path is not that of a binary */
export type Binaries = (request: IncomingMessage, response: ServerResponse) => boolean;

const releasesPath = "/releases/";
export const binaryPaths: readonly string[] = [uploadPath, `${releasesPath}{path}`];
/** Tokens are checked for every block; the disk is read again after this time. */
const tokenAgeMs = 1000;
const digestOfNothing = createHash("sha256").digest();

/** Runs before Express, which takes longer over a request than sending a block does. */
export function createBinaries(
	repository: FirmwareRepository,
	access: Pick<Access, "check">,
	answerError: AnswerError,
): Binaries {
	const answer = async (request: IncomingMessage, response: ServerResponse, { pathname, search }: Target) => {
		const { method } = request;
		if (method !== "GET" && method !== "HEAD") return sendProblem(response, wrongMethod(method, "GET, HEAD"));
		const { refusal } = await access.check(request, ["device", "monitor"], tokenAgeMs);
		if (refusal) sendProblem(response, refusal);
		else {
			const query = new URLSearchParams(search);
			const [model, chip] = ["model", "chip"].map((name) => query.get(name)?.toLowerCase());
			send(request, response, await repository.open(decodeURIComponent(pathname), { model, chip }));
		}
	};
	return (request, response) => {
		const target = parseTarget(request.url ?? "");
		const { pathname } = target;
		if (pathname !== uploadPath && !pathname.startsWith(releasesPath)) return false;
		answer(request, response, target).catch((error: unknown) => answerError(error, response));
		return true;
	};
}

type Target = Pick<URL, "pathname" | "search">;

/** Of a request target, which a proxy may send with scheme and host (RFC 9112, 3.2.2). */
function parseTarget(target: string): Target {
	if (!target.startsWith("/")) return parseUrl(target) ?? { pathname: "", search: "" };
	const query = target.indexOf("?");
	if (query < 0) return { pathname: target, search: "" };
	return { pathname: target.slice(0, query), search: target.slice(query) };
}

/** @throws {HttpProblem} 412, 416 */
function send({ headers, method }: IncomingMessage, response: ServerResponse, binary: Binary): void {
	const { image, filename, lastModified, caching } = binary;
	const { bytes, sha256 } = image;
	const etag = `"${sha256}"`;
	if (!names(headers["if-match"] ?? "*", etag)) throw new HttpProblem(412, "The firmware has been replaced.");
	const isUnchanged = wasSeen(headers, etag, lastModified);
	// A Range has no meaning in a HEAD.
	const isWhole = isUnchanged || method === "HEAD" || headers.range === undefined;
	const span = isWhole ? undefined : requestedSpan(headers, bytes.length, [etag, lastModified]);
	const fields = ["Cache-Control", `private, ${caching}, no-transform`, "ETag", etag];
	// With If-Range the client has the others already (RFC 9110, 15.3.7).
	if (span && headers["if-range"] !== undefined) response.removeHeader("Connection");
	else {
		fields.push(
			...["Accept-Ranges", "bytes", "Last-Modified", lastModified],
			...["Repr-Digest", digestField(Buffer.from(sha256, "hex"))],
			...["Content-Disposition", contentDisposition(filename)],
			...["Content-Type", "application/octet-stream", "X-Content-Type-Options", "nosniff"],
		);
	}
	if (isUnchanged) return void response.writeHead(304, fields).end();
	const { first, last } = span ?? { first: 0, last: bytes.length - 1 };
	fields.push("Content-Length", String(last - first + 1));
	if (span) fields.push("Content-Range", `bytes ${first}-${last}/${bytes.length}`);
	// For HEAD, the digest of no content (RFC 9530, appendix B.2).
	const digest = method === "HEAD" ? digestOfNothing : image.digestOf(first, last);
	if (digest) fields.push("Content-Digest", digestField(digest));
	response.writeHead(span ? 206 : 200, fields).end(bytes.subarray(first, last + 1));
}

/** RFC 9110, 13.1.2 and 13.1.3: If-None-Match takes precedence. */
function wasSeen(headers: IncomingHttpHeaders, etag: string, lastModified: string): boolean {
	const ifNoneMatch = headers["if-none-match"];
	if (ifNoneMatch !== undefined) return names(ifNoneMatch.replaceAll("W/", ""), etag);
	const since = headers["if-modified-since"];
	return since !== undefined && Date.parse(lastModified) <= Date.parse(since);
}

/**
 * RFC 9110, 14.2. A Range that is malformed, has several parts or another unit, or is for a previous version, is
 * ignored. The package range-parser (1.3) has no range for the last 500 bytes of 400 and for 5-2, which 14.1.1 and 14.1.2 serve whole.
 *
 * @param validators values that If-Range may have
 * @returns first and last byte, both included; undefined: the whole
 * @throws {HttpProblem} 416 if the range starts beyond the end
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
	const detail = `The firmware has ${size} bytes; the requested range starts after its end.`;
	throw new HttpProblem(416, detail, { "Content-Range": `bytes */${size}` });
}

function names(list: string, etag: string): boolean {
	return list.split(",").some((tag) => tag.trim() === etag || tag.trim() === "*");
}

/** RFC 9530, section 2; RFC 8941, section 3.3.5. */
function digestField(sha256: Buffer): string {
	return `sha-256=:${sha256.toString("base64")}:`;
}
