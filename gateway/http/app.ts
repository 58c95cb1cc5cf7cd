/** Express app with security headers, all routes, and the handlers of errors and unknown paths. */

import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Router } from "express";
import helmet from "helmet";
import { isLoopback, reachedAt } from "../access/origin.js";
import { type HttpRejection, rejectMethod, type SendError, sendProblem } from "../problem.js";

export interface AppOptions {
	readonly isTls: boolean;
	readonly routers: readonly Router[];
	readonly sendError: SendError;
}

export function createApp({ isTls, routers, sendError }: AppOptions): Express {
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
					// The dashboard previews a sound before announcing it.
					mediaSrc: ["blob:"],
					connectSrc: ["'self'"],
					manifestSrc: ["'self'"],
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
		(request, response, next) => {
			const { protocol, hostname } = reachedAt(request);
			// Browsers ignore them at origins that they do not trust, and report that at each load.
			if (protocol !== "https:" && !isLoopback(hostname))
				for (const name of ["Cross-Origin-Opener-Policy", "Origin-Agent-Cluster"])
					response.removeHeader(name);
			next();
		},
	);
	const headers = { Upgrade: "websocket" };
	app
		.route(["/device", "/monitor"])
		.get(respondWith({ status: 426, detail: "This endpoint requires a WebSocket connection.", headers }))
		.all(rejectMethod("GET, HEAD"));
	app.use(...routers);
	app.use(respondWith({ status: 404, detail: "No resource at this path." }));
	const handleError: ErrorRequestHandler = (error: unknown, _request, response, _next) =>
		sendError(error, response);
	app.use(handleError);
	return app;
}

function respondWith(rejection: HttpRejection): RequestHandler {
	return (_request, response) => sendProblem(response, rejection);
}
