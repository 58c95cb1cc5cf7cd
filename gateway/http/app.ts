/** The Express app: security headers, all routes, and the responses for errors and unknown paths. */

import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Router } from "express";
import helmet from "helmet";
import { type HttpRejection, rejectMethod, type SendError, sendProblem } from "../problem.js";

export interface AppOptions {
	readonly isTls: boolean;
	readonly routers: readonly Router[];
	readonly answerError: SendError;
}

export function createApp({ isTls, routers, answerError }: AppOptions): Express {
	const app = express();
	app.disable("x-powered-by");
	app.use(
		helmet({
			contentSecurityPolicy: {
				useDefaults: false,
				directives: {
					defaultSrc: ["'none'"],
					scriptSrc: ["'self'"],
					styleSrc: ["'self'"],
					imgSrc: ["'self'", "data:"],
					// The page plays a sound to its person before it announces it.
					mediaSrc: ["blob:"],
					connectSrc: ["'self'"],
					formAction: ["'self'"],
					baseUri: ["'none'"],
					frameAncestors: ["'none'"],
				},
			},
			// helmet's default, "no-referrer", makes browsers send `Origin: null` with the login form.
			referrerPolicy: { policy: "same-origin" },
			strictTransportSecurity: isTls,
			xFrameOptions: { action: "deny" },
		}),
	);
	const headers = { Upgrade: "websocket" };
	app
		.route(["/device", "/monitor"])
		.get(answer({ status: 426, detail: "Connect by WebSocket.", headers }))
		.all(rejectMethod("GET, HEAD"));
	app.use(...routers);
	app.use(answer({ status: 404, detail: "There is nothing at this address." }));
	const handleError: ErrorRequestHandler = (error: unknown, _request, response, _next) =>
		answerError(error, response);
	app.use(handleError);
	return app;
}

function answer(rejection: HttpRejection): RequestHandler {
	return (_request, response) => sendProblem(response, rejection);
}
