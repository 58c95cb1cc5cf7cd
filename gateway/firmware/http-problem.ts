/**
 * A request for firmware that cannot be served, thrown from wherever that shows, and how it is answered. A refused upload
 * is answered while most of it is still on its way, which needs care, or its sender sees a reset connection instead.
 */

import type { ServerResponse } from "node:http";
import { type HttpRefusal, sendProblem, writeProblem } from "../problem.js";
import { errorCode } from "../start-error.js";
import { ImageError } from "./image-head.js";

/** For how long the rest of a refused request is read and thrown away. */
const lingerMs = 10_000;

export class HttpProblem extends Error {
	readonly refusal: HttpRefusal;

	/**
	 * @param status HTTP status, 400 to 599
	 * @param detail one sentence that says what to change
	 */
	constructor(status: number, detail: string, headers: HttpRefusal["headers"] = {}) {
		super(detail);
		this.refusal = { status, detail, headers };
	}
}

/** 405. @param allow the methods that work, as the `Allow` header names them */
export function wrongMethod(method: string | undefined, allow: string): HttpProblem {
	return new HttpProblem(405, `${method} does not work here; ${allow} does.`, { Allow: allow });
}

/** Answers a request that failed; one whose answer has begun is cut off, and one whose client has gone let be. */
export type AnswerError = (error: unknown, response: ServerResponse) => void;

/** @param onError told of what is no fault of the client's */
export function createAnswerError(onError: (error: unknown) => void): AnswerError {
	return (error, response) => {
		const refusal = refusalOf(error);
		if (refusal.status >= 500) onError(error);
		if (response.headersSent) response.destroy();
		else if (!response.destroyed) sendEarly(response, refusal);
	};
}

function refusalOf(error: unknown): HttpRefusal {
	if (error instanceof HttpProblem) return error.refusal;
	if (error instanceof ImageError) return { status: 422, detail: error.message };
	if (error instanceof URIError) return { status: 400, detail: "This address is not well formed." };
	if (["ENOSPC", "EDQUOT"].includes(errorCode(error) ?? ""))
		return { status: 507, detail: "The gateway's disk is full; the former firmware is still in place." };
	return { status: 500, detail: "The gateway failed at this; its log says why." };
}

/**
 * Answers a request, also while its body is still coming. A socket that is closed then is reset, and most clients report
 * that instead of the answer (RFC 9112, section 9.6): so the answer goes out, and the body is read on for a while.
 */
function sendEarly(response: ServerResponse, refusal: HttpRefusal): void {
	const request = response.req;
	if (request.complete) return sendProblem(response, refusal);
	writeProblem(response, { ...refusal, headers: { ...refusal.headers, Connection: "close" } });
	const end = () => {
		clearTimeout(timer);
		response.end();
	};
	const timer = setTimeout(end, lingerMs).unref();
	request.once("end", end).once("close", end).resume();
}
