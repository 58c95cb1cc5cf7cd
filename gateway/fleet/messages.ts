/** Monitor message `subscribe`: its schema, type and AsyncAPI description. */

import { boolean, list, object, oneOf, optional } from "../../device/protocol/schema.js";
import { subscribedDevicesAtMost } from "../api/subscription.js";
import type { MessageDocument } from "../extension.js";
import { requestId, targetId } from "../sockets/monitor-commands.js";

export const subscribe = object({
	type: oneOf("subscribe"),
	summary: boolean(),
	/** Ids of devices, known or not; absent: none. */
	devices: optional(list(targetId, subscribedDevicesAtMost)),
	requestId,
});

export const fleetMessages: Readonly<Record<string, MessageDocument>> = {
	subscribe: {
		schema: subscribe,
		description:
			"From now on this monitor gets, instead of every change and uplink, those of the named devices, and with `summary` a summary of all devices and those of sessions without a device, which no summary names. The answer is one status_update (identified) for each newly named device that is known, and with `summary`, if there was none before, the whole summary and one status_update (connected) for each session without a device; the rest of a status_update snapshot is not sent. It can be sent again at any time, and replaces the previous one.",
		example: { type: "subscribe", summary: true, devices: ["dev-1-a1b2c3"], requestId: "4" },
	},
};
