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

/** The body of RFC 9457, section 3, and all headers that go with it. */
export function problemOf({ status, detail, headers }: HttpRefusal) {
	const body = JSON.stringify({ type: "about:blank", title: STATUS_CODES[status], status, detail });
	const described = { "Content-Type": "application/problem+json", "Content-Length": Buffer.byteLength(body) };
	return { headers: { ...headers, ...described }, body };
}

/** Ends a response with the refusal. */
export function sendProblem(response: ServerResponse, refusal: HttpRefusal): void {
	writeProblem(response, refusal);
	response.end();
}

/** Sends all of the refusal, and leaves the response open. */
export function writeProblem(response: ServerResponse, refusal: HttpRefusal): void {
	const { headers, body } = problemOf(refusal);
	response.writeHead(refusal.status, headers).write(body);
}
