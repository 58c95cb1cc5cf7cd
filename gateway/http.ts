/**
 * The HTTP half of the gateway: which routes there are, behind which headers, and what is said where there is none.
 */

import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Router } from "express";
import helmet from "helmet";
import type { Logger } from "pino";
import type { Access } from "./access/access.js";
import { loginRouter } from "./access/login.js";
import { createDashboard } from "./dashboard/routes.js";
import { type HttpRefusal, refuseMethod, sendProblem } from "./problem.js";

export interface HttpOptions {
	readonly access: Access;
	readonly isTls: boolean;
	/** For the page, which shows it to who has logged in. */
	readonly deviceToken: () => string;
	/** `/ota/*`, `/releases/*`, `/api/*`, `/healthz`, `/readyz`, `/metrics`. */
	readonly rooms: readonly Router[];
	readonly log: Logger;
}

export function createHttp({ access, isTls, deviceToken, rooms, log }: HttpOptions): Express {
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
	app.use(answerError(log));
	return app;
}

function answer(refusal: HttpRefusal): RequestHandler {
	return (_request, response) => sendProblem(response, refusal);
}

/** Errors that name a status below 500, such as body-parser's, are the client's; any other is ours, and not explained. */
function answerError(log: Logger): ErrorRequestHandler {
	return (error: unknown, _request, response, next) => {
		if (response.headersSent) return next(error);
		const status = error instanceof Error && "status" in error ? Number(error.status) : 500;
		if (status >= 400 && status < 500)
			return sendProblem(response, { status, detail: "This request cannot be read." });
		log.error({ err: error }, "request failed");
		sendProblem(response, { status: 500, detail: "The gateway failed at this; its log says why." });
	};
}
