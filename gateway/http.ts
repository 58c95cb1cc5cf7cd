/**
 * The HTTP half of the gateway: which routes there are, behind which headers, and what is said where there is none.
 */

import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Router } from "express";
import helmet from "helmet";
import type { Access } from "./access/access.js";
import { loginRouter } from "./access/login.js";
import { createDashboard } from "./dashboard/routes.js";
import { type AnswerError, type HttpRefusal, refuseMethod, sendProblem } from "./problem.js";

export interface HttpOptions {
	readonly access: Access;
	readonly isTls: boolean;
	/** For the page, which shows it to who has logged in. */
	readonly deviceToken: () => string;
	/** `/ota/*`, `/releases/*`, `/api/*`, `/healthz`, `/readyz`, `/metrics`. */
	readonly rooms: readonly Router[];
	readonly answerError: AnswerError;
}

export function createHttp({ access, isTls, deviceToken, rooms, answerError }: HttpOptions): Express {
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
					connectSrc: ["'self'"],
					formAction: ["'self'"],
					baseUri: ["'none'"],
					frameAncestors: ["'none'"],
				},
			},
			// Not helmet's "no-referrer": under it a browser sends `Origin: null` along with our own login form.
			referrerPolicy: { policy: "same-origin" },
			strictTransportSecurity: isTls,
			xFrameOptions: { action: "deny" },
		}),
	);
	const headers = { Upgrade: "websocket" };
	app
		.route(["/device", "/monitor"])
		.get(answer({ status: 426, detail: "Connect by WebSocket.", headers }))
		.all(refuseMethod("GET, HEAD"));
	app.use(...rooms);
	const dashboard = createDashboard({ access, deviceToken });
	app.use(loginRouter(access, dashboard.loginPage));
	app.use(dashboard.router);
	app.use(answer({ status: 404, detail: "There is nothing at this address." }));
	const handleError: ErrorRequestHandler = (error: unknown, _request, response, _next) =>
		answerError(error, response);
	app.use(handleError);
	return app;
}

function answer(refusal: HttpRefusal): RequestHandler {
	return (_request, response) => sendProblem(response, refusal);
}
