/** `/healthz`, `/readyz` and `/metrics`. */

import { healthRoutes } from "../api/health.js";
import { RequestError } from "../problem.js";
import type { Sessions } from "../sessions/sessions.js";
import type { Metrics } from "../telemetry/metrics.js";
import type { ServerCertificate } from "./certificate.js";
import { type Route, serve, streamed } from "./routes.js";

export interface HealthOptions {
	readonly metrics: Pick<Metrics, "registry">;
	/** Undefined: HTTP without TLS. */
	readonly certificate: Pick<ServerCertificate, "warnings"> | undefined;
	readonly sessions: Pick<Sessions, "fullReason">;
}

/** @param findReadinessProblem resolves to the reason why the gateway is not ready, as a sentence, or undefined */
export function createHealthRoutes(
	{ metrics: { registry }, certificate, sessions }: HealthOptions,
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
