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
	"rejected",
	"disk_full",
	"schedule_failed",
] as const;
export type WebhookEventName = (typeof webhookEvents)[number];

/** Delivery attempt. */
const attempt = closed({
	at: dateTime,
	status: described(
		nullable(wholeNumber),
		"status of the response; 200 to 299: delivered; redirects are not followed; null: no response",
	),
	problem: described(nullable(text), "reason of a missing response"),
});
export type WebhookAttempt = InferShape<typeof attempt>;

const webhook = closed({
	number: described(integer(1, Number.MAX_SAFE_INTEGER), "position in the file, from 1"),
	origin: described(text, "origin of its URL; the rest is often a secret"),
	events: array(oneOf(...webhookEvents)),
	tags: described(nullable(text), "tag expression that selects devices; null: all"),
	after: described(wholeNumber, "minutes without a connection after which a device is away"),
	ended: described(
		{ type: "boolean" } as const,
		"the receiver responded with 410 and gets no events until the gateway restarts",
	),
	waiting: described(count, "number of pending events"),
	latest: described(nullable(attempt), "latest attempt since the gateway's start, except tests; null: none"),
});
export type Webhook = InferShape<typeof webhook>;

export const webhookRoutes = defineRoutes("webhooks", {
	"GET /api/webhooks": {
		summary: "Lists webhooks (WEBHOOKS_FILE) and their pending deliveries, without secrets",
		roles: viewers,
		returns: "The webhooks, in the order of the file.",
		reply: closed({ webhooks: array(webhook) }),
	},
	"POST /api/webhooks/:number/test": {
		summary: "Sends the event `test` to a webhook, once, and waits up to 5 s for the response",
		roles: monitors,
		params: { number: described(text, "position in the file, from 1") },
		reply: attempt,
		problems: {
			409: "The webhook has ended: its receiver responded with 410.",
		},
	},
});
