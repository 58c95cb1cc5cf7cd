/**
 * Login with a one-time link, printed at the start or created by the dashboard, or with a token. Sets an HttpOnly,
 * SameSite cookie.
 */

import type { Request, Response } from "express";
import type { Access } from "../access/access.js";
import { loginRoutes } from "../api/login.js";
import { cleanText } from "../api/text.js";
import { type HttpRejection, RequestError } from "../problem.js";
import { readBody } from "./request-body.js";
import { type Route, serve, streamed } from "./routes.js";

/** Default login page; an extension may serve these routes with another one. */
const plainPage = `<!doctype html>
<title>Log in</title>
<!--token--><form method="post"><!--message--><label>Access token <input name="token" type="password"></label><button>Log in</button></form><!--end-->
`;

/** Form that posts to the current URL, which contains the code. */
const codeForm = `<p>This link logs you in once.</p>
<form method="post"><button type="submit" class="primary">Log in</button></form>`;

/**
 * Creates the routes `/login` and `/logout`, and `/login/state` and `/login/link` for the dashboard.
 * @param page returns the login page, in which `<!--message-->` is replaced by an error, and for a login link
 * everything from `<!--token-->` to `<!--end-->` by a button
 */
export function createLoginRoutes(access: Access, page = async () => plainPage): readonly Route[] {
	const send = (response: Response, status: number, html: string) => {
		response.status(status).set("Cache-Control", "no-store").send(html);
		return streamed;
	};

	const showPage = async (response: Response, status: number, message: string) =>
		send(response, status, (await page()).replace("<!--message-->", message));

	const reject = (response: Response, { status, detail, headers = {} }: HttpRejection, message: string) =>
		showPage(response.set(headers), status, status === 429 ? detail : message);

	const begin = async (request: Request, response: Response, token: string) => {
		await access.logins.begin(request, response, token);
		response.set("Cache-Control", "no-store").redirect(303, "./");
		return streamed;
	};

	const useCode = async (request: Request, response: Response, code: string) => {
		const token = await access.logins.useCode(code);
		if (token !== undefined) return begin(request, response, token);
		const rejection = access.countFailure(request, "login code");
		return reject(response, rejection, "This link has expired. Ask for a new one.");
	};

	return serve(loginRoutes, {
		// GET does not consume the code, since link previews request the URL, too.
		"GET /login": async ({ response, query: { code } }) => {
			const html = await page();
			return send(
				response,
				200,
				code === undefined ? html : html.replace(/<!--token-->.*<!--end-->/s, codeForm),
			);
		},
		"POST /login": async ({ request, response, query: { code } }) => {
			const form = await readForm(request);
			if (code !== undefined && !form.has("token")) return useCode(request, response, code);
			const token = cleanText(form.get("token") ?? "");
			const rejection = await access.checkPersonToken(request, token);
			if (rejection) return reject(response, rejection, "Invalid access token.");
			return begin(request, response, token);
		},
		"POST /logout": async ({ request, response }) => {
			await access.logins.end(request, response);
			response.redirect(303, "login");
			return streamed;
		},
		"GET /login/state": ({ person }) => person,
		"POST /login/link": ({ request, person }) => {
			const link = access.logins.createLink(request, person.name);
			if (!link) throw new RequestError(409, "Login is not required with AUTH=off.");
			return link;
		},
	});
}

/** @throws {RequestError} 400 if it is too large or too slow */
async function readForm(request: Request): Promise<URLSearchParams> {
	const body = await readBody(request);
	if (body === undefined)
		throw new RequestError(400, "Send the token as a form of at most 4 KiB, within 10 s.");
	return new URLSearchParams(body);
}
