/** Provisioning of new devices: tokens and addresses. */

import { deviceId } from "../../device/protocol/messages.js";
import { object } from "../../device/protocol/schema.js";
import { monitors, viewers } from "./permissions.js";
import { defineRoutes, json } from "./route.js";
import { array, closed, described, nullable, text } from "./shapes.js";

const token = closed({ token: text });
const deviceSetup = closed({
	addresses: described(array(text), "addresses of the gateway on the interfaces that it listens on"),
	authority: described(
		nullable(text),
		"certificate of the authority as PEM; null if devices need none, or the gateway does not have it",
	),
});

export const deviceSetupRoutes = defineRoutes("dashboard", {
	// Not for viewers, who could impersonate a device with its token.
	"GET /api/device-token": {
		summary: "Returns the device token, for provisioning a device",
		roles: monitors,
		reply: token,
	},
	"POST /api/device-tokens": {
		summary: "Creates a token for a single device",
		roles: monitors,
		body: json(object({ deviceId }), { deviceId: "dev-1-7cdfa1a1b2c3" }),
		status: 201,
		reply: token,
	},
	"GET /api/device-setup": {
		summary: "Returns the gateway's addresses and authority, for provisioning a board",
		roles: viewers,
		reply: deviceSetup,
	},
});
