/** Validates HTTP responses to firmware requests. Reasons are sentences for `ota_error`. */

import { readContentLength, readContentRange, readSha256 } from "../network/http-fields.js";
import { describeStatus, isTransient } from "../network/http-status.js";

/** Request, and the file described by earlier responses. */
export interface ResponseContext {
	readonly offset: number;
	readonly byteLength: number;
	/** Undefined before the first valid response. */
	readonly file: RemoteFile | undefined;
}

export interface RemoteFile {
	/** Size of the whole firmware in bytes. */
	readonly total: number;
	readonly etag: string | undefined;
	/** Whether the server supports range requests. */
	readonly isInParts: boolean;
}

/** Reason why a response is unusable: retry, give up (`end`), or the connection was lost. */
export interface DownloadProblem {
	readonly kind: "retry" | "end" | "lost";
	readonly reason: string;
}

type Verdict =
	| DownloadProblem
	/** The response contains the requested part or the whole firmware. `sha256`, in base64, if the server sent a digest. */
	| { readonly kind: "bytes"; readonly file: RemoteFile; readonly sha256: string | undefined };

/** @param headers names in lower case */
export function evaluateResponse(
	status: number,
	headers: ReadonlyMap<string, string>,
	context: ResponseContext,
): Verdict {
	const { file, offset } = context;
	// The SDK reads chunked encoding in a timer, where an exception restarts the board.
	if ((status === 200 || status === 206) && headers.has("transfer-encoding"))
		return retry("The server sends the firmware with chunked encoding, without its length.");
	if (status === 206) return evaluatePart(headers, context);
	if (status === 200) return file?.isInParts ? retry(changed) : evaluateWhole(headers, context);
	if (status === 416) return offset === 0 ? end("The firmware on the server is empty.") : retry(changed);
	const reason = describeStatus(status, "firmware");
	return isTransient(status) ? retry(reason) : end(reason);
}

function evaluatePart(
	headers: ReadonlyMap<string, string>,
	{ offset, byteLength, file }: ResponseContext,
): Verdict {
	const range = readContentRange(headers.get("content-range"));
	if (!range) return retry("The server sends no valid Content-Range.");
	const { first, last, total } = range;
	const expected = last + 1 - first;
	const announced = readContentLength(headers.get("content-length"));
	if (first !== offset || expected > byteLength || (announced !== undefined && announced !== expected))
		return retry("The server sends a different range of the firmware than requested.");
	// Shorter parts could lead to endless requests.
	if (expected < Math.min(byteLength, total - offset))
		return retry("The server sends less of the firmware than requested.");
	const etag = headers.get("etag");
	if (file && (file.total !== total || file.etag !== etag)) return retry(changed);
	return {
		kind: "bytes",
		file: { total, etag, isInParts: true },
		sha256: readSha256(headers.get("content-digest")),
	};
}

function evaluateWhole(headers: ReadonlyMap<string, string>, { file }: ResponseContext): Verdict {
	const total = readContentLength(headers.get("content-length"));
	const etag = headers.get("etag");
	if (total === undefined) return end("The server does not send the length of the firmware.");
	if (total === 0) return end("The firmware on the server is empty.");
	if (file && (file.total !== total || file.etag !== etag)) return retry(changed);
	return { kind: "bytes", file: { total, etag, isInParts: false }, sha256: undefined };
}

/** Retried, since a byte lost in the response's header looks the same. */
const changed = "The firmware on the server was replaced during the download; start the update again.";

function retry(reason: string): Verdict {
	return { kind: "retry", reason };
}

function end(reason: string): Verdict {
	return { kind: "end", reason };
}
