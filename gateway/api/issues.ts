/** Issues of devices, and marking them as seen. */

import { list, object, oneOf, optional, pattern, string } from "../../device/protocol/schema.js";
import { monitors } from "./permissions.js";
import { defineRoutes, json, notWrittenYet } from "./route.js";
import { closed, dateTime, described, type InferShape, nullable, text } from "./shapes.js";

/** Types of issues, in display order. */
export const deviceIssueKinds = [
	"crashed",
	"rolled_back",
	"update_failed",
	"safe_mode",
	"duplicate_id",
	"often_restarted",
	"faulty",
	"away",
	"weak_signal",
] as const;
export type DeviceIssueKind = (typeof deviceIssueKinds)[number];

export const deviceIssue = closed({
	kind: oneOf(...deviceIssueKinds),
	since: described(
		nullable(dateTime),
		"time of the latest crash, update or restart, or start of the condition; null: unknown, such as before this gateway's start",
	),
	seen: described({ type: "boolean" } as const, "marked as seen, and not repeated since"),
	count: {
		type: "integer",
		minimum: 1,
		maximum: 20,
		optional: true,
		description: "number of crashes or restarts",
	} as const,
	reason: described(
		optional(text),
		"kind of the latest crash, reset reason, or description of the fault or duplicate",
	),
});
export type DeviceIssue = InferShape<typeof deviceIssue>;

const isoTime = pattern(
	30,
	"^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,9})?Z$",
	"a UTC time in ISO 8601",
);

const maxSeenItems = 10_000;
export const seenRequest = object({
	items: list(
		object({
			kind: oneOf(...deviceIssueKinds, "rejected", "crash_new"),
			/** Id of the device, of the rejection (`rejected`) or of the cause (`crash_new`). */
			id: string(64),
			/** Value of `since` as shown; absent: null. */
			since: optional(isoTime),
		}),
		maxSeenItems,
	),
});

export const issueRoutes = defineRoutes("fleet", {
	"POST /api/issues/seen": {
		summary: "Marks issues as seen, for all people, up to `since`",
		roles: monitors,
		body: json(
			seenRequest,
			{ items: [{ kind: "crashed", id: "dev-1-7cdfa1a1b2c3", since: "2026-11-20T12:00:00.000Z" }] },
			// Fits the maximum number of items.
			{ maxBytes: 2 << 20 },
		),
		returns: "The issues are marked; unknown devices are ignored.",
		problems: { 507: notWrittenYet },
	},
});
