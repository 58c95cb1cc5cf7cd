/**
 * A request for firmware that cannot be served, thrown from wherever that shows; routes.ts answers it. A refused upload
 * is answered while most of it is still on its way, which needs care, or its sender sees a reset connection instead.
 */

import type { ServerResponse } from "node:http";
import type { RequestHandler } from "express";
import { type HttpRefusal, problemMediaType, problemText, sendProblem } from "../problem.js";

/** For how long the rest of a refused request is read and thrown away. */
const lingerMs = 10_000;

export class HttpProblem extends Error implements HttpRefusal {
	override readonly name = "HttpProblem";
	readonly status: number;
	readonly detail: string;
	readonly headers: Readonly<Record<string, string>>;

	/**
	 * @param status HTTP status, 400 to 599
	 * @param detail one sentence that says what to change
	 */
	constructor(status: number, detail: string, headers: Readonly<Record<string, string>> = {}) {
		super(detail);
		this.status = status;
		this.detail = detail;
		this.headers = headers;
	}
}

/** 405. @param allow the methods that work, as the `Allow` header names them */
export function refuseMethod(allow: string): RequestHandler {
	return ({ method }) => {
		throw wrongMethod(method, allow);
	};
}

/** @param allow the methods that work, as the `Allow` header names them */
export function wrongMethod(method: string | undefined, allow: string): HttpProblem {
	return new HttpProblem(405, `${method} does not work here; ${allow} does.`, { Allow: allow });
}

/**
 * Answers a request, also while its body is still coming. A socket that is closed then is reset, and most clients report
 * that instead of the answer (RFC 9112, section 9.6): so the answer goes out, and the body is read on for a while.
 */
export function sendProblemEarly(response: ServerResponse, refusal: HttpRefusal): void {
	const request = response.req;
	if (request.complete) {
		sendProblem(response, refusal);
		return;
	}
	const body = Buffer.from(problemText(refusal));
	response.writeHead(refusal.status, {
		...refusal.headers,
		Connection: "close",
		"Content-Type": problemMediaType,
		"Content-Length": body.length,
	});
	response.write(body);
	const end = () => {
		clearTimeout(timer);
		response.end();
	};
	const timer = setTimeout(end, lingerMs).unref();
	request.once("end", end).once("close", end).resume();
}
