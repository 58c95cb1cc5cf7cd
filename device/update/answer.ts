/** Evaluates an HTTP response to a request for firmware. Reasons are sentences for `ota_error`. */

import { readContentLength, readContentRange, readSha256 } from "../network/http-fields.js";
import { describeStatus, isPassing } from "../network/http-status.js";

/** The request, and what earlier responses said. */
export interface Asked {
	readonly offset: number;
	readonly byteLength: number;
	/** Undefined before the first valid response. */
	readonly known: Known | undefined;
}

export interface Known {
	/** Size of the whole firmware, in bytes. */
	readonly total: number;
	readonly etag: string | undefined;
	readonly isInParts: boolean;
}

/** Why a response is of no use: ask again, give up, or the connection was lost. */
export interface Problem {
	readonly kind: "retry" | "end" | "lost";
	readonly reason: string;
}

type Verdict =
	| Problem
	/** The requested part, or the whole firmware, with `sha256` in base64. */
	| { readonly kind: "bytes"; readonly known: Known; readonly sha256: string | undefined };

/** @param headers names in lower case */
export function judge(status: number, headers: ReadonlyMap<string, string>, asked: Asked): Verdict {
	const { known, offset } = asked;
	// The SDK reads chunks in a timer, where an exception restarts the board.
	if ((status === 200 || status === 206) && headers.has("transfer-encoding"))
		return retry("The server sends the firmware in chunks, without its length.");
	if (status === 206) return judgePart(headers, asked);
	if (status === 200) return known?.isInParts ? retry(changed) : judgeWhole(headers, asked);
	if (status === 416) return offset === 0 ? end("The firmware on the server is empty.") : retry(changed);
	const reason = describeStatus(status, "firmware");
	return isPassing(status) ? retry(reason) : end(reason);
}

function judgePart(headers: ReadonlyMap<string, string>, { offset, byteLength, known }: Asked): Verdict {
	const range = readContentRange(headers.get("content-range"));
	if (!range) return retry("The server does not say which part of the firmware it sends.");
	const { first, last, total } = range;
	const expected = last + 1 - first;
	const announced = readContentLength(headers.get("content-length"));
	if (first !== offset || expected > byteLength || (announced !== undefined && announced !== expected))
		return retry("The server sends another part of the firmware than the one asked for.");
	// Shorter parts could mean endless requests.
	if (expected < Math.min(byteLength, total - offset))
		return retry("The server sends less of the firmware than was asked for.");
	const etag = headers.get("etag");
	if (known && (known.total !== total || known.etag !== etag)) return retry(changed);
	return {
		kind: "bytes",
		known: { total, etag, isInParts: true },
		sha256: readSha256(headers.get("content-digest")),
	};
}

function judgeWhole(headers: ReadonlyMap<string, string>, { known }: Asked): Verdict {
	const total = readContentLength(headers.get("content-length"));
	const etag = headers.get("etag");
	if (total === undefined) return end("The server does not say how long the firmware is.");
	if (total === 0) return end("The firmware on the server is empty.");
	if (known && (known.total !== total || known.etag !== etag)) return retry(changed);
	return { kind: "bytes", known: { total, etag, isInParts: false }, sha256: undefined };
}

/** Retried: a byte lost in a response's head looks the same. */
const changed =
	"The firmware on the server was replaced by another while it was fetched; start the update again.";

function retry(reason: string): Verdict {
	return { kind: "retry", reason };
}

function end(reason: string): Verdict {
	return { kind: "end", reason };
}
