/** Replacement of a broken board. */

import { deviceId } from "../../device/protocol/messages.js";
import { object } from "../../device/protocol/schema.js";
import { monitors } from "./permissions.js";
import { defineRoutes, json } from "./route.js";
import { anyRecord, array, closed, dateTime, described, type InferShape, text } from "./shapes.js";

const replacement = closed({
	deviceId: described(text, "id of the old device"),
	by: text,
	at: dateTime,
	settings: described(
		array(anyRecord),
		"persistent settings of the old device, as commands that are sent when the new device connects; empty: done",
	),
	doNotFit: described(array(text), "a sentence for each setting that the new device does not support"),
});
export type Replacement = InferShape<typeof replacement>;

export const replacementRoutes = defineRoutes("replacement", {
	"POST /api/devices/:deviceId/replace": {
		summary: "Replaces a disconnected device with another one; the old one is rejected from then on",
		description:
			"Moves label, quiet hours, and places in schedules and active rollouts to the new device, and, once it is connected, " +
			"volume, brightness and haptics. The old device is removed; its history is in `before` of the new one. The request is " +
			"idempotent.",
		roles: monitors,
		body: json(object({ by: deviceId }), { by: "dev-1-7cdfa1d4e5f6" }),
		returns: "The device is replaced; settings are sent when the new device connects.",
		reply: replacement,
		problems: {
			409: "The old device is connected, one of them was replaced, is being updated or has not received everything yet, or both are the same.",
			507: "The replacement is in effect, but not fully written to disk; writing is retried. With several gateways 503.",
		},
	},
	"DELETE /api/devices/:deviceId/replace": {
		summary:
			"Accepts a replaced device again, as a new one. Its history is deleted; the other device keeps what it received",
		roles: monitors,
		problems: {
			409: "The new device has not received everything yet.",
			507: "The record could not be removed from disk. With several gateways 503.",
		},
	},
});
