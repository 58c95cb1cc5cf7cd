/**
 * A refused HTTP request, told in one form everywhere: application/problem+json (RFC 9457). It is the same whether
 * Express answers or an upgrade is turned down on the bare socket, where there is no Express yet.
 */

import { type ServerResponse, STATUS_CODES } from "node:http";

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

/** Ends a response with the refusal. */
export function sendProblem(response: ServerResponse, refusal: HttpRefusal): void {
	writeProblem(response, refusal);
	response.end();
}

/** Sends all of the refusal, and leaves the response open. */
export function writeProblem(response: ServerResponse, refusal: HttpRefusal): void {
	const body = Buffer.from(problemText(refusal));
	const headers = { ...refusal.headers, "Content-Type": problemMediaType, "Content-Length": body.length };
	response.writeHead(refusal.status, headers).write(body);
}
