/** Routes for liveness, readiness and metrics. */

import { optional } from "../../device/protocol/schema.js";
import { viewers } from "./permissions.js";
import { defineRoutes } from "./route.js";
import { array, closed, described, text } from "./shapes.js";

export const healthRoutes = defineRoutes(null, {
	"GET /healthz": {
		summary: "Liveness: tells whether the process responds",
		roles: null,
		reply: closed({ status: described(text, "ok") }),
	},
	"GET /readyz": {
		summary: "Readiness: tells whether the gateway is not stopping and can write to its data folder",
		roles: null,
		reply: closed({
			status: described(text, "ready"),
			warnings: described(
				optional(array(text)),
				"problems that will need attention, such as an expiring TLS certificate or too many devices; absent: none",
			),
		}),
		problems: { 503: "The gateway is not ready; `detail` names the reason." },
	},
	"GET /metrics": {
		summary: "Returns metrics for Prometheus",
		roles: viewers,
		reply: { type: "raw", content: { "text/plain": text } },
	},
});
