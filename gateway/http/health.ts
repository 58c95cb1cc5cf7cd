/** `/healthz`, `/readyz` and `/metrics`. */

import { healthRoutes } from "../api/health.js";
import type { Core } from "../extension.js";
import { RequestError } from "../problem.js";
import { type Route, serve, streamed } from "./routes.js";

/** @param findReadinessProblem resolves to the reason why the gateway is not ready, as a sentence, or undefined */
export function createHealthRoutes(
	{ metrics: { registry }, certificate, sessions }: Pick<Core, "metrics" | "certificate" | "sessions">,
	findReadinessProblem: () => Promise<string | undefined>,
): readonly Route[] {
	return serve(healthRoutes, {
		"GET /healthz": () => ({ status: "ok" }),
		"GET /readyz": async ({ response }) => {
			response.set("Cache-Control", "no-store");
			const problem = await findReadinessProblem();
			if (problem) throw new RequestError(503, problem);
			const warnings = [certificate?.warnings ?? [], sessions.fullReason ?? []].flat();
			return { status: "ready", ...(warnings.length > 0 && { warnings }) };
		},
		"GET /metrics": async ({ response }) => {
			const text = await registry.metrics();
			response.set("Cache-Control", "no-store").type(registry.contentType).send(text);
			return streamed;
		},
	});
}
