/** Errors reported to users: at startup, and over HTTP as application/problem+json (RFC 9457). */

import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";

/** Reason why the gateway cannot start, printed without a stack trace. Any other error is a bug. */
export class StartError extends Error {
	override readonly name = "StartError";
}

/** Rejects command-line arguments such as `--port`, which have no effect. @throws {StartError} if there is one */
export function rejectArguments([word]: readonly string[]): void {
	if (word === undefined) return;
	throw new StartError(
		`Unknown argument "${word}". Settings come from the environment, such as PORT=8090 npm start; see gateway/README.md.`,
	);
}

/** Returns a system error's code, such as EADDRINUSE; undefined for other values. */
export function errorCode(error: unknown): string | undefined {
	return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

export interface HttpRejection {
	/** HTTP status, 400 to 599. */
	readonly status: number;
	/** Problem and remedy, as a sentence without secrets. */
	readonly detail: string;
	readonly headers?: Readonly<Record<string, string>>;
}

/** Error with the HTTP response that it causes. */
export class RejectedError extends Error {
	readonly rejection: HttpRejection;

	/** @param message for the log */
	constructor(message: string, rejection: HttpRejection) {
		super(message);
		this.rejection = rejection;
	}
}

/** Request rejected by its content or the gateway's state; not a bug. */
export class RequestError extends RejectedError {
	constructor(status: number, detail: string, headers: HttpRejection["headers"] = {}) {
		super(detail, { status, detail, headers });
	}
}

/** Returns a value to which a request refers. @throws {RequestError} 404 if it is undefined */
export function requireFound<T>(value: T | undefined, detail: string): T {
	if (value !== undefined) return value;
	throw new RequestError(404, detail);
}

/** Returns body and headers of a problem (RFC 9457, 3). */
export function problemOf({ status, detail, headers }: HttpRejection) {
	const body = JSON.stringify({ type: "about:blank", title: STATUS_CODES[status], status, detail });
	const described = {
		"Content-Type": "application/problem+json",
		"Content-Length": Buffer.byteLength(body),
		"X-Content-Type-Options": "nosniff",
	};
	return { headers: { ...headers, ...described }, body };
}

/** Limits of reading the rest of a rejected request. */
const lingerMs = 3000;
const lingerBytes = 64 * 1024;

/**
 * Sends a rejection, possibly before the whole request has arrived. Closing the connection at once would reset it, and
 * most clients would not read the response (RFC 9112, 9.6).
 */
export function sendProblem(response: ServerResponse, rejection: HttpRejection): void {
	const request = response.req;
	if (request.complete) {
		writeProblem(response, rejection);
		return void response.end();
	}
	writeProblem(response, { ...rejection, headers: { ...rejection.headers, Connection: "close" } });
	const end = () => {
		clearTimeout(timer);
		response.end();
	};
	const timer = setTimeout(end, lingerMs).unref();
	let left = lingerBytes;
	request.on("data", (chunk: Buffer) => {
		left -= chunk.length;
		if (left < 0) request.pause();
	});
	request.once("end", end).once("close", end).resume();
}

/** @param allow as in the `Allow` header */
export function methodNotAllowed(method: string | undefined, allow: string): HttpRejection {
	return {
		status: 405,
		detail: `${method} is not supported at this path. Use ${allow}.`,
		headers: { Allow: allow },
	};
}

/** Creates a handler that responds with 405. @param allow as in the `Allow` header */
export function rejectMethod(allow: string) {
	return (request: IncomingMessage, response: ServerResponse): void =>
		sendProblem(response, methodNotAllowed(request.method, allow));
}

/** Responds to a failed request, or destroys the response if its headers are already sent. */
export type SendError = (error: unknown, response: ServerResponse) => void;

/** @param onError called for internal errors (5xx) */
export function createSendError(onError: (error: unknown) => void): SendError {
	return (error, response) => {
		const rejection = rejectionOf(error);
		if (rejection.status >= 500) onError(error);
		if (response.headersSent) response.destroy();
		else if (!response.destroyed) sendProblem(response, rejection);
	};
}

function rejectionOf(error: unknown): HttpRejection {
	if (error instanceof RejectedError) return error.rejection;
	if (error instanceof URIError) return { status: 400, detail: "The URL is malformed." };
	if (["ENOSPC", "EDQUOT"].includes(errorCode(error) ?? ""))
		return { status: 507, detail: "The gateway's disk is full. Nothing was changed." };
	// Errors with a status below 500 are caused by the client; others are sent without details.
	const status = error instanceof Error && "status" in error ? Number(error.status) : 500;
	if (status >= 400 && status < 500) return { status, detail: "The request is malformed." };
	return { status: 500, detail: "Internal error. See the gateway's log." };
}

/** Sends the rejection but does not end the response. */
function writeProblem(response: ServerResponse, rejection: HttpRejection): void {
	const { headers, body } = problemOf(rejection);
	response.writeHead(rejection.status, headers).write(body);
}
