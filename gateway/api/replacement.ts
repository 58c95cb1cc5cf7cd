/** Replacement of a broken board. */

import { deviceId } from "../../device/protocol/messages.js";
import { object } from "../../device/protocol/schema.js";
import { aDevice } from "./device.js";
import { monitors } from "./permissions.js";
import { defineRoutes, json } from "./route.js";
import { anyRecord, array, closed, dateTime, described, type InferShape, text } from "./shapes.js";

const replacement = closed({
	deviceId: described(text, "the old one"),
	by: text,
	at: dateTime,
	settings: described(
		array(anyRecord),
		"persistent settings of the old one, as commands that the new one is sent once it is connected; empty: it has them",
	),
	doNotFit: described(array(text), "a sentence for each setting that the new one cannot have"),
});
export type Replacement = InferShape<typeof replacement>;

export const replacementRoutes = defineRoutes("replacement", {
	"POST /api/devices/:deviceId/replace": {
		summary: "Replaces a device that is away by another one; the old one is rejected from then on",
		description:
			"The new one gets the label of the old one, its quiet hours, its places in schedules and active rollouts, and, once it is connected, " +
			"its volume, brightness and haptics. The old one is removed; its history is in `before` of the new one. The same request again " +
			"changes nothing.",
		roles: monitors,
		params: aDevice,
		body: json(object({ by: deviceId }), { by: "dev-1-d4e5f6" }),
		returns: "It is replaced; settings wait until the new device connects.",
		reply: replacement,
		example: {
			deviceId: "dev-1-a1b2c3",
			by: "dev-1-d4e5f6",
			at: "2026-11-27T12:00:00.000Z",
			settings: [{ command: "set_volume", value: 40 }],
			doNotFit: ["set_haptics exists on PROTO-1 only"],
		},
		problems: {
			404: "No device has this id.",
			409: "The old one is connected, one of them was replaced, is being updated or has not received everything yet, or both are the same.",
			507: "It is decided, but not all could be written to disk yet; that is retried. With several gateways 503.",
		},
	},
	"DELETE /api/devices/:deviceId/replace": {
		summary:
			"Accepts a replaced device again, as a new one; its history is deleted, and what the new one got stays",
		roles: monitors,
		params: aDevice,
		returns: "It may connect.",
		problems: {
			404: "No device has replaced it.",
			409: "The new one has not received everything yet.",
			507: "It could not be removed from disk. With several gateways 503.",
		},
	},
});
