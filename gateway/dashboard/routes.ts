/**
 * The page at `/`: files as they lie in page/. They hold nothing secret and so are open; what they show comes over
 * `/monitor`, which is not.
 */

import { fileURLToPath } from "node:url";
import express, { type RequestHandler } from "express";

/** The login page, which access/login.ts fills in. */
export const loginPage = new URL("page/login.html", import.meta.url);

/** Serves the page's files; asked for anew each time, so that a new gateway never runs with an old page. */
export function dashboardFiles(): RequestHandler {
	return express.static(fileURLToPath(new URL("page", import.meta.url)), {
		setHeaders: (response) => response.setHeader("Cache-Control", "no-cache"),
	});
}
