/** Issues of devices, and marking them as seen. */

import { list, object, oneOf, optional, pattern, string } from "../../device/protocol/schema.js";
import { monitors } from "./permissions.js";
import { defineRoutes, json, notWrittenYet } from "./route.js";
import { closed, dateTime, described, type InferShape, nullable, text } from "./shapes.js";

/** Issues of a device in display order. */
export const attentionKinds = [
	"crashed",
	"rolled_back",
	"update_failed",
	"safe_mode",
	"often_restarted",
	"faulty",
	"away",
	"weak_signal",
] as const;
export type AttentionKind = (typeof attentionKinds)[number];

export const attention = closed({
	kind: oneOf(...attentionKinds),
	since: described(
		nullable(dateTime),
		"of the latest crash, update or restart, or since when it lasts; null: it is not known, as since before this gateway started",
	),
	seen: described(
		{ type: "boolean" } as const,
		"a person has seen it, and nothing of the kind has happened since",
	),
	count: {
		type: "integer",
		minimum: 1,
		maximum: 20,
		optional: true,
		description: "crashes, or restarts",
	} as const,
	reason: described(optional(text), "of the latest crash (its kind) or restart; of a fault a sentence"),
});
export type Attention = InferShape<typeof attention>;

const isoTime = pattern(
	30,
	"^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,9})?Z$",
	"a UTC time in ISO 8601",
);

const seenAtMost = 10_000;
export const askedSeen = object({
	items: list(
		object({
			kind: oneOf(...attentionKinds, "refused", "crash_new"),
			/** Id of the device, of the rejection (`refused`) or of the cause (`crash_new`). */
			id: string(64),
			/** Value of `since` as shown; absent: null. */
			since: optional(isoTime),
		}),
		seenAtMost,
	),
});

export const attentionRoutes = defineRoutes("fleet", {
	"POST /api/attention/seen": {
		summary: "Marks issues as seen, for all people; what happens after `since` is not marked",
		roles: monitors,
		body: json(
			askedSeen,
			{ items: [{ kind: "crashed", id: "dev-1-a1b2c3", since: "2026-11-20T12:00:00.000Z" }] },
			// Fits the maximum number of items.
			{ maxBytes: 2 << 20 },
		),
		returns: "They are marked; unknown devices are ignored.",
		problems: { 507: notWrittenYet },
	},
});
