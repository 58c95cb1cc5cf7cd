/** Audit log: changes by people. */

import { optional } from "../../device/protocol/schema.js";
import { viewers } from "./permissions.js";
import { defineRoutes } from "./route.js";
import {
	anyRecord,
	array,
	closed,
	dateTime,
	described,
	type InferShape,
	nullable,
	text,
	typed,
} from "./shapes.js";

const listedChange = closed({
	at: dateTime,
	who: described(text, "name of the token, or of the login's token; monitor: the token without a name"),
	address: text,
	deviceId: nullable(text),
	what: described(text, "route of a request, name of a command, or type of another monitor message"),
	after: described(
		typed<Readonly<Record<string, unknown>>>(anyRecord),
		"fields of the request without secrets; … stands for what is left out",
	),
	before: described(
		optional(typed<Readonly<Record<string, unknown>>>(anyRecord)),
		"previous values of some of the fields; absent: unknown",
	),
});
export type ListedChange = InferShape<typeof listedChange>;

export const auditRoutes = defineRoutes("audit", {
	"GET /api/audit": {
		summary: "Lists the latest 2,000 changes by people, newest first, without secrets",
		roles: viewers,
		reply: closed({ changes: array(listedChange) }),
	},
});
