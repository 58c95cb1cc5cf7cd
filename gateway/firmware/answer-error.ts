/** What went wrong in this room, as answers: problem+json, since most who ask are devices and scripts. */

import type { ServerResponse } from "node:http";
import { HttpProblem, sendProblemEarly } from "./http-problem.js";
import { UnusableRelease } from "./library.js";
import { ClientGone } from "./upload.js";

/** Answers a request that failed; one whose answer has begun is cut off. */
export type AnswerError = (error: unknown, response: ServerResponse) => void;

/** @param onError told of what is no fault of the client's */
export function createAnswerError(onError: (error: unknown) => void): AnswerError {
	return (error, response) => {
		if (error instanceof ClientGone) return;
		const problem = asProblem(error);
		if (problem.status >= 500) onError(error);
		if (response.headersSent) response.destroy();
		else sendProblemEarly(response, problem);
	};
}

function asProblem(error: unknown): HttpProblem {
	if (error instanceof HttpProblem) return error;
	// The release is being made anew at this moment, or needs to be: a device may try again.
	if (error instanceof UnusableRelease) return new HttpProblem(503, error.message, { "Retry-After": "10" });
	if (error instanceof URIError) return new HttpProblem(400, "This address is not well formed.");
	return new HttpProblem(500, "The gateway failed at this; its log says why.");
}
