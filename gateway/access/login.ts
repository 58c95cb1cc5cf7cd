/**
 * Login by a one-time link, which the gateway prints at its start and the page makes for another device, or by a token. Either sets a cookie that scripts cannot read and browsers do not
 * send for other sites.
 */

import { type Request, type RequestHandler, type Response, Router } from "express";
import { personRoles } from "../api/person.js";
import { cleanText } from "../api/text.js";
import { readBody } from "../http/request-body.js";
import { type HttpRefusal, refuseMethod, sendProblem } from "../problem.js";
import { type Access, personOf } from "./access.js";

/** The default; an extension may serve these routes with another one. */
const plainPage = `<!doctype html>
<title>Log in</title>
<!--token--><form method="post"><!--message--><label>Monitor token <input name="token" type="password"></label><button>Log in</button></form><!--end-->
`;

/** Sent to the address of the page, which holds the code. */
const codeForm = `<p>This link logs you in once.</p>
<form method="post"><button type="submit" class="primary">Log in</button></form>`;

/**
 * Routes `/login`, `/logout`, and `/login/state` and `/login/link`, which the page asks.
 * @param page the login page: `<!--message-->` is replaced by the error, and for a login link all from `<!--token-->`
 * to `<!--end-->` by a button
 */
export function loginRouter(access: Access, page = async () => plainPage): Router {
	const router = Router();

	const send = (response: Response, status: number, html: string) =>
		void response.status(status).set("Cache-Control", "no-store").send(html);

	const showPage = async (response: Response, status: number, message: string) =>
		send(response, status, (await page()).replace("<!--message-->", message));

	const turnAway = (response: Response, { status, detail, headers = {} }: HttpRefusal, message: string) =>
		showPage(response.set(headers), status, status === 429 ? detail : message);

	const letIn = async (request: Request, response: Response, token: string) => {
		await access.logins.begin(request, response, token);
		response.set("Cache-Control", "no-store").redirect(303, "./");
	};

	// Link previews open the address too: that must not use the code up.
	const show: RequestHandler = async ({ query }, response) => {
		const html = await page();
		if (query.code === undefined) return send(response, 200, html);
		send(response, 200, html.replace(/<!--token-->.*<!--end-->/s, codeForm));
	};

	const useCode = async (request: Request, response: Response, code: string) => {
		const token = await access.logins.useCode(code);
		if (token !== undefined) return letIn(request, response, token);
		const refusal = access.countFailure(request, "login code");
		const message = "This link was used before, or is too old. Open a new one, or paste a token.";
		await turnAway(response, refusal, message);
	};

	const takeCodeOrToken: RequestHandler = async (request, response) => {
		const foreign = access.checkOrigin(request);
		if (foreign) return sendProblem(response, foreign);
		const form = await readForm(request);
		if (!form) return sendProblem(response, badForm);
		const { code } = request.query;
		if (typeof code === "string" && !form.has("token")) return useCode(request, response, code);
		const shown = cleanText(form.get("token") ?? "");
		const refusal = await access.checkPersonsToken(request, shown);
		if (refusal) await turnAway(response, refusal, "That is not this gateway's monitor token.");
		else await letIn(request, response, shown);
	};

	router.route("/login").get(show).post(takeCodeOrToken).all(refuseMethod("GET, HEAD, POST"));

	router
		.route("/login/state")
		.get(async (request, response) => {
			const { refusal, person } = await access.check(request, personRoles);
			if (refusal) return sendProblem(response, refusal);
			response.set("Cache-Control", "no-store").json(person);
		})
		.all(refuseMethod("GET, HEAD"));

	router
		.route("/login/link")
		.post(access.requirePerson, (request, response) => {
			response
				.status(201)
				.set("Cache-Control", "no-store")
				.json(access.logins.makeLink(request, personOf(request)?.name));
		})
		.all(refuseMethod("POST"));

	router
		.route("/logout")
		.post(async (request, response) => {
			const foreign = access.checkOrigin(request);
			if (foreign) return sendProblem(response, foreign);
			await access.logins.end(request, response);
			response.redirect(303, "login");
		})
		.all(refuseMethod("POST"));

	return router;
}

const badForm: HttpRefusal = {
	status: 400,
	detail: "Send the token as a form of at most 4 KiB, within 10 s.",
};

/** @returns undefined if it is too large or too slow */
async function readForm(request: Request): Promise<URLSearchParams | undefined> {
	const body = await readBody(request);
	return body === undefined ? undefined : new URLSearchParams(body);
}
