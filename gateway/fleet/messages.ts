/** Monitor message `subscribe`: its schema, type and AsyncAPI description. */

import { boolean, list, object, oneOf, optional } from "../../device/protocol/schema.js";
import { maxSubscribedDevices } from "../api/subscription.js";
import type { MessageDocument } from "../extension.js";
import { requestId, targetId } from "../sockets/monitor-commands.js";

export const subscribe = object({
	type: oneOf("subscribe"),
	summary: boolean(),
	/** Device ids, known or unknown; absent: none. */
	devices: optional(list(targetId, maxSubscribedDevices)),
	requestId,
});

export const fleetMessages: Readonly<Record<string, MessageDocument>> = {
	subscribe: {
		schema: subscribe,
		description:
			"Limits changes and uplinks sent to this monitor to the named devices. With `summary`, it also receives a summary of all devices, and changes and uplinks of sessions without a device, which the summary does not contain. The answer is one status_update (identified) for each newly named device that is known, and with `summary`, if it was off before, the whole summary and one status_update (connected) for each session without a device; the remainder of a status_update snapshot is skipped. A new subscription replaces the previous one.",
		example: { type: "subscribe", summary: true, devices: ["dev-1-7cdfa1a1b2c3"], requestId: "4" },
	},
};
