/**
 * How a person gets in: by the one-time link that the gateway prints, or by pasting the monitor token. Either is traded
 * for a cookie that no script can read and no other site can make a browser send.
 */

import express, { type Request, type Response, Router } from "express";
import { type HttpRefusal, sendProblem } from "../problem.js";
import type { Access } from "./access.js";

/**
 * Routes `/login` and `/logout`, and `GET /login/state`, by which the page learns whether it is logged in.
 *
 * @param page the login page; `<!--message-->` in it is replaced by what went wrong
 */
export function loginRouter(access: Access, page: () => Promise<string>): Router {
	const router = Router();

	const showPage = async (response: Response, status: number, message: string) => {
		const html = (await page()).replace("<!--message-->", message);
		response.status(status).set("Cache-Control", "no-store").send(html);
	};

	const turnAway = (response: Response, { status, detail, headers = {} }: HttpRefusal, message: string) =>
		showPage(response.set(headers), status, status === 429 ? detail : message);

	const letIn = async (request: Request, response: Response) => {
		await access.logIn(request, response);
		response.set("Cache-Control", "no-store").redirect(303, "./");
	};

	router.get("/login", async (request, response) => {
		const { code } = request.query;
		// Whatever looks at links before people do (mail, chat) asks by HEAD; that must not use the code up.
		if (typeof code !== "string" || request.method === "HEAD") return showPage(response, 200, "");
		if (access.useLoginCode(code)) return letIn(request, response);
		// Apart from wrong tokens: any web site can make this browser show wrong codes, which must not keep right tokens out.
		const refusal = await access.countFailure(request, "login code");
		const message = "This link was used before, or is over an hour old. Paste the monitor token.";
		await turnAway(response, refusal, message);
	});

	router.post("/login", express.urlencoded({ extended: false, limit: "4kb" }), async (request, response) => {
		const foreign = access.checkOrigin(request);
		if (foreign) return sendProblem(response, foreign);
		const token: unknown = request.body?.token;
		const shown = typeof token === "string" ? token.trim() : "";
		const { refusal } = await access.checkToken(request, shown, ["monitor"]);
		if (refusal) await turnAway(response, refusal, "That is not this gateway's monitor token.");
		else await letIn(request, response);
	});

	router.get("/login/state", access.require("monitor"), (_request, response) => {
		response.set("Cache-Control", "no-store").status(204).end();
	});

	router.post("/logout", (request, response) => {
		const foreign = access.checkOrigin(request);
		if (foreign) return sendProblem(response, foreign);
		access.logOut(response);
		response.redirect(303, "login");
	});

	return router;
}
