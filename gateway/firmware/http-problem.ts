/**
 * A request for firmware that cannot be served, thrown from wherever that shows, and how it is answered.
 */

import type { ServerResponse } from "node:http";
import { type HttpRefusal, sendProblem } from "../problem.js";
import { errorCode } from "../start-error.js";
import { ImageError } from "./image.js";

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

/** Answers a request that failed; one whose answer has begun is cut off, and one whose client has gone let be. */
export type AnswerError = (error: unknown, response: ServerResponse) => void;

/** @param onError told of what is no fault of the client's */
export function createAnswerError(onError: (error: unknown) => void): AnswerError {
	return (error, response) => {
		const refusal = refusalOf(error);
		if (refusal.status >= 500) onError(error);
		if (response.headersSent) response.destroy();
		else if (!response.destroyed) sendProblem(response, refusal);
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
