/** Audit log: changes by people. */

import { viewers } from "./permissions.js";
import { defineRoutes } from "./route.js";
import { array, closed, dateTime, described, type InferShape, nullable, text } from "./shapes.js";

const listedChange = closed({
	at: dateTime,
	who: described(text, "name of the token, or of the login's token; monitor: the token without a name"),
	address: text,
	deviceId: nullable(text),
	what: described(text, "method and path of a request, or type of a monitor message"),
	detail: described(nullable(text), "JSON of the request without secrets, at most 300 characters"),
});
export type ListedChange = InferShape<typeof listedChange>;

export const auditRoutes = defineRoutes("audit", {
	"GET /api/audit": {
		summary: "Lists the latest 2,000 changes by people, newest first, without secrets",
		roles: viewers,
		returns: "The changes.",
		reply: closed({ changes: array(listedChange) }),
		example: {
			changes: [
				{
					at: "2026-11-23T21:00:00.000Z",
					who: "anna",
					address: "192.0.2.7",
					deviceId: "dev-1-7cdfa1a1b2c3",
					what: "control_device",
					detail: '{"payload":{"command":"set_volume","value":40}}',
				},
			],
		},
	},
});
