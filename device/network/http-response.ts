/** Validates HTTP responses to requests for a file or a part of it. Reasons are sentences. */

import { readContentLength, readContentRange, readSha256 } from "./http-fields.js";

/** Request, and the file described by earlier responses. */
export interface ResponseContext {
	/** Name of the file for reasons, e.g. "firmware". */
	readonly what: string;
	readonly offset: number;
	/** Length of the requested part; Infinity: up to the end of the file. */
	readonly byteLength: number;
	/** Undefined before the first valid response. */
	readonly file: RemoteFile | undefined;
}

export interface RemoteFile {
	/** Size of the whole file in bytes. */
	readonly total: number;
	readonly etag: string | undefined;
	/** Whether the server supports range requests. */
	readonly isInParts: boolean;
}

/** Reason why a response is unusable: retry, or give up (`end`). */
export interface ResponseProblem {
	readonly kind: "retry" | "end";
	readonly reason: string;
}

type Verdict =
	| ResponseProblem
	/** The response contains the requested part or the whole file. `sha256`, in base64, if the server sent a digest. */
	| { readonly kind: "bytes"; readonly file: RemoteFile; readonly sha256: string | undefined };

/** @param headers names in lower case */
export function evaluateResponse(
	status: number,
	headers: ReadonlyMap<string, string>,
	context: ResponseContext,
): Verdict {
	const { what, file, offset } = context;
	// Not supported: downloads need the length.
	if ((status === 200 || status === 206) && headers.has("transfer-encoding"))
		return retry(`The server sends the ${what} with chunked encoding, without its length.`);
	if (status === 206) return evaluatePart(headers, context);
	if (status === 200) return file?.isInParts ? replaced(what) : evaluateWhole(headers, context);
	if (status === 416) return offset === 0 ? end(`The ${what} on the server is empty.`) : replaced(what);
	const reason = describeStatus(status, what);
	return isTransient(status) ? retry(reason) : end(reason);
}

function evaluatePart(
	headers: ReadonlyMap<string, string>,
	{ what, offset, byteLength, file }: ResponseContext,
): Verdict {
	const range = readContentRange(headers.get("content-range"));
	if (!range) return retry("The server sends no valid Content-Range.");
	const { first, last, total } = range;
	const expected = last + 1 - first;
	const announced = readContentLength(headers.get("content-length"));
	if (first !== offset || expected > byteLength || (announced !== undefined && announced !== expected))
		return retry(`The server sends a different range of the ${what} than requested.`);
	// Shorter parts could lead to endless requests.
	if (expected < Math.min(byteLength, total - offset))
		return retry(`The server sends less of the ${what} than requested.`);
	const etag = headers.get("etag");
	if (file && (file.total !== total || file.etag !== etag)) return replaced(what);
	return {
		kind: "bytes",
		file: { total, etag, isInParts: true },
		sha256: readSha256(headers.get("content-digest")),
	};
}

function evaluateWhole(headers: ReadonlyMap<string, string>, { what, file }: ResponseContext): Verdict {
	const total = readContentLength(headers.get("content-length"));
	const etag = headers.get("etag");
	if (total === undefined) return end(`The server does not send the length of the ${what}.`);
	if (total === 0) return end(`The ${what} on the server is empty.`);
	if (file && (file.total !== total || file.etag !== etag)) return replaced(what);
	return { kind: "bytes", file: { total, etag, isInParts: false }, sha256: undefined };
}

/** Retried, since a byte lost in the response's header looks the same. */
function replaced(what: string): Verdict {
	return retry(`The ${what} on the server was replaced during the download.`);
}

function retry(reason: string): Verdict {
	return { kind: "retry", reason };
}

function end(reason: string): Verdict {
	return { kind: "end", reason };
}

/** Describes a status (RFC 9110, 15) other than 200 and 206. */
function describeStatus(status: number, what: string): string {
	if (status >= 300 && status < 400)
		return `The server answered ${status}, a redirect; use the ${what}'s final address.`;
	return `The server answered ${status}${meaning(status, what)}.`;
}

/** Whether the same request may succeed later. */
function isTransient(status: number): boolean {
	return status < 300 || status >= 500 || status === 408 || status === 429;
}

function meaning(status: number, what: string): string {
	switch (status) {
		case 401:
		case 403:
			return `: it does not give the ${what} to this device`;
		case 404:
			return `: there is no ${what} at this address`;
		case 410:
			return `: the ${what} at this address was replaced or withdrawn`;
		case 429:
			return ": it has too much to do";
		default:
			return status >= 500 ? ": it failed" : "";
	}
}
