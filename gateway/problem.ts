/**
 * A refused HTTP request, told in one form everywhere: application/problem+json (RFC 9457). It is the same whether
 * Express answers or an upgrade is turned down on the bare socket, where there is no Express yet.
 */

import { STATUS_CODES } from "node:http";
import type { Response } from "express";

export interface HttpRefusal {
	/** HTTP status, 400 to 599. */
	readonly status: number;
	/** One sentence that says what to change; it never holds a token. */
	readonly detail: string;
	readonly headers?: Readonly<Record<string, string>>;
}

export const problemMediaType = "application/problem+json";

/** The body of RFC 9457, section 3. */
export function problemText({ status, detail }: HttpRefusal): string {
	return JSON.stringify({ type: "about:blank", title: STATUS_CODES[status], status, detail });
}

/** Ends an Express response with the refusal. `end` and not `send`, which would give it an ETag, as if it were the resource. */
export function sendProblem(response: Response, refusal: HttpRefusal): void {
	response
		.status(refusal.status)
		.set(refusal.headers ?? {})
		.type(problemMediaType)
		.end(problemText(refusal));
}
