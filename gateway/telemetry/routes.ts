/** `/healthz`, `/readyz` and `/metrics`. */

import { healthRoutes } from "../api/health.js";
import type { Core } from "../extension.js";
import { type Route, serve, streamed } from "../http/routes.js";
import { HttpProblem } from "../problem.js";

/** @param findReadinessProblem resolves to a sentence, or undefined */
export function telemetryRoutes(
	{ metrics: { registry }, certificate }: Pick<Core, "metrics" | "certificate">,
	findReadinessProblem: () => Promise<string | undefined>,
): readonly Route[] {
	return serve(healthRoutes, {
		"GET /healthz": () => ({ status: "ok" }),
		"GET /readyz": async ({ response }) => {
			response.set("Cache-Control", "no-store");
			const problem = await findReadinessProblem();
			if (problem) throw new HttpProblem(503, problem);
			const { warnings = [] } = certificate ?? {};
			return { status: "ready", ...(warnings.length > 0 && { warnings }) };
		},
		"GET /metrics": async ({ response }) => {
			const numbers = await registry.metrics();
			response.set("Cache-Control", "no-store").type(registry.contentType).send(numbers);
			return streamed;
		},
	});
}
