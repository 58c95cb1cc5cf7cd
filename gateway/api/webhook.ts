/** Webhooks of WEBHOOKS_FILE, and test deliveries. */

import { integer, oneOf } from "../../device/protocol/schema.js";
import { monitors, viewers } from "./permissions.js";
import { defineRoutes } from "./route.js";
import {
	array,
	closed,
	count,
	dateTime,
	described,
	type InferShape,
	nullable,
	text,
	wholeNumber,
} from "./shapes.js";

export const webhookEvents = [
	"away",
	"back",
	"crashed",
	"crash_new",
	"rolled_back",
	"rollout_paused",
	"rollout_finished",
	"refused",
	"disk_full",
	"schedule_failed",
] as const;

/** Delivery attempt. */
const attempt = closed({
	at: dateTime,
	status: described(
		nullable(wholeNumber),
		"of the response; 200 to 299: delivered; redirects are not followed; null: no response",
	),
	problem: described(nullable(text), "why there was no response"),
});
export type WebhookAttempt = InferShape<typeof attempt>;

const webhook = closed({
	number: described(integer(1, Number.MAX_SAFE_INTEGER), "its place in the file"),
	origin: described(text, "of its address, the rest of which is often a secret"),
	events: array(oneOf(...webhookEvents)),
	tags: described(nullable(text), "expression that selects devices whose events it gets; null: all"),
	after: described(wholeNumber, "minutes without a device until it is away"),
	ended: described(
		{ type: "boolean" } as const,
		"its receiver has answered 410: it gets nothing more until the gateway restarts",
	),
	waiting: described(count, "events that are not delivered yet"),
	latest: described(nullable(attempt), "latest attempt since the gateway's start, without tests; null: none"),
});
export type Webhook = InferShape<typeof webhook>;

export const webhookRoutes = defineRoutes("webhooks", {
	"GET /api/webhooks": {
		summary: "Receivers of events (WEBHOOKS_FILE) and pending deliveries, without secrets",
		roles: viewers,
		returns: "The webhooks, in the order of the file.",
		reply: closed({ webhooks: array(webhook) }),
		example: {
			webhooks: [
				{
					number: 1,
					origin: "https://example.org",
					events: ["away", "back"],
					tags: "beta",
					after: 5,
					ended: false,
					waiting: 0,
					latest: null,
				},
			],
		},
	},
	"POST /api/webhooks/:number/test": {
		summary: "Sends the event `test` to one of them, once, and waits up to 5 s for its response",
		roles: monitors,
		params: { number: described(text, "its place in the file, from 1") },
		returns: "The result.",
		reply: attempt,
		example: { at: "2026-11-23T21:00:00.000Z", status: 204, problem: null },
		problems: {
			404: "No webhook has this number.",
			409: "It has ended: its receiver has answered 410.",
		},
	},
});
