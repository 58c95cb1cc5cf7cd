/**
 * How a person gets in: by the one-time link that the gateway prints, or by pasting the monitor token. Either is traded
 * for a cookie that no script can read and no other site can make a browser send.
 */

import express, { type Request, type Response, Router } from "express";
import { sendProblem } from "../problem.js";
import type { Access } from "./access.js";
import { reachedAt } from "./origin.js";

export interface LoginOptions {
	readonly access: Access;
	readonly publicUrl: URL | undefined;
	/** The login page; `<!--message-->` in it is replaced by what went wrong. */
	readonly page: () => Promise<string>;
}

/** Routes `/login` and `/logout`, and `GET /login/state`, by which the page learns whether it is logged in. */
export function loginRouter({ access, publicUrl, page }: LoginOptions): Router {
	const router = Router();

	const showPage = async (response: Response, status: number, message: string) => {
		const html = (await page()).replace("<!--message-->", message);
		response.status(status).set("Cache-Control", "no-store").send(html);
	};

	const letIn = (request: Request, response: Response) => {
		const { name, value, maxAgeMs } = access.makeCookie();
		const secure = reachedAt(request).protocol === "https:" || publicUrl?.protocol === "https:";
		response.cookie(name, value, {
			httpOnly: true,
			sameSite: "strict",
			secure,
			maxAge: maxAgeMs,
		});
		response.set("Cache-Control", "no-store").redirect(303, "./");
	};

	router.get("/login", async (request, response) => {
		const { code } = request.query;
		// Whatever looks at links before people do (mail, chat) asks by HEAD; that must not use the code up.
		if (typeof code !== "string" || request.method === "HEAD") return showPage(response, 200, "");
		if (access.useLoginCode(code)) return letIn(request, response);
		const { status } = await access.countFailure(request, ["monitor"]);
		await showPage(
			response,
			status,
			"This link was used before, or is over an hour old. Paste the monitor token.",
		);
	});

	router.post("/login", express.urlencoded({ extended: false, limit: "4kb" }), async (request, response) => {
		const foreign = access.checkOrigin(request);
		if (foreign) return sendProblem(response, foreign);
		const token: unknown = request.body?.token;
		const shown = typeof token === "string" ? token.trim() : "";
		const { refusal } = await access.checkToken(request, shown, ["monitor"]);
		if (!refusal) return letIn(request, response);
		const message = refusal.status === 429 ? refusal.detail : "That is not this gateway's monitor token.";
		await showPage(response.set(refusal.headers ?? {}), refusal.status, message);
	});

	router.get("/login/state", access.require("monitor"), (_request, response) => {
		response.set("Cache-Control", "no-store").status(204).end();
	});

	router.post("/logout", (request, response) => {
		const foreign = access.checkOrigin(request);
		if (foreign) return sendProblem(response, foreign);
		for (const name of access.cookieNames()) response.clearCookie(name);
		response.redirect(303, "login");
	});

	return router;
}
