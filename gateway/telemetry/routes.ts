/** `/healthz`: the process responds. `/readyz`: devices may be sent here. `/metrics`: for monitors alone. */

import { type RequestHandler, Router } from "express";
import type { Core } from "../extension.js";
import { refuseMethod, sendProblem } from "../problem.js";

/** @param findReadinessProblem resolves to a sentence, or undefined */
export function telemetryRoutes(
	{
		metrics: { registry },
		requirePerson,
		certificate,
	}: Pick<Core, "metrics" | "requirePerson" | "certificate">,
	findReadinessProblem: () => Promise<string | undefined>,
): Router {
	const router = Router({ caseSensitive: true, strict: true });
	const get = (path: string, ...handlers: readonly RequestHandler[]) =>
		router
			.route(path)
			.get(...handlers)
			.all(refuseMethod("GET, HEAD"));
	get("/healthz", (_request, response) => void response.json({ status: "ok" }));
	get("/readyz", async (_request, response) => {
		const detail = await findReadinessProblem();
		response.set("Cache-Control", "no-store");
		if (detail) sendProblem(response, { status: 503, detail });
		else {
			const { warnings = [] } = certificate ?? {};
			response.json({ status: "ready", ...(warnings.length > 0 && { warnings }) });
		}
	});
	get("/metrics", requirePerson, async (_request, response) => {
		const numbers = await registry.metrics();
		response.set("Cache-Control", "no-store").type(registry.contentType).send(numbers);
	});
	return router;
}
