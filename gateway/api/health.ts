/** Routes for liveness, readiness and metrics. */

import { optional } from "../../device/protocol/schema.js";
import { viewers } from "./permissions.js";
import { defineRoutes } from "./route.js";
import { array, closed, described, text } from "./shapes.js";

export const healthRoutes = defineRoutes(null, {
	"GET /healthz": {
		summary: "Whether the process responds",
		roles: null,
		returns: "It responds.",
		reply: closed({ status: described(text, "ok") }),
		example: { status: "ok" },
	},
	"GET /readyz": {
		summary: "Whether the gateway is ready: it is not stopping and can write to its data folder",
		roles: null,
		returns: "It is ready.",
		reply: closed({
			status: described(text, "ready"),
			warnings: described(
				optional(array(text)),
				"problems that will need a person, such as a TLS certificate that expires; absent: none",
			),
		}),
		example: { status: "ready" },
		problems: { 503: "It is not ready; `detail` says why." },
	},
	"GET /metrics": {
		summary: "Metrics for Prometheus",
		roles: viewers,
		returns: "The current values.",
		reply: { type: "raw", content: { "text/plain": text } },
	},
});
