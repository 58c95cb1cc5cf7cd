/** Provisioning of new devices: tokens and addresses. */

import { deviceId } from "../../device/protocol/messages.js";
import { object } from "../../device/protocol/schema.js";
import { monitors, viewers } from "./permissions.js";
import { defineRoutes, json } from "./route.js";
import { array, closed, described, type InferShape, nullable, text } from "./shapes.js";

const token = closed({ token: text });
const deviceSetup = closed({
	addresses: described(array(text), "of the interfaces on which the gateway listens"),
	authority: described(
		nullable(text),
		"PEM; null where another authority has signed the gateway's certificate",
	),
});
export type DeviceSetup = InferShape<typeof deviceSetup>;

export const deviceSetupRoutes = defineRoutes("dashboard", {
	// Not for viewers, who could impersonate a device with its token.
	"GET /api/device-token": {
		summary: "The device token, for the page that helps to connect a device",
		roles: monitors,
		returns: "The token.",
		reply: token,
		example: { token: "<the device token>" },
	},
	"POST /api/device-tokens": {
		summary: "Creates the token of a single device, which only that device can use",
		roles: monitors,
		body: json(object({ deviceId }), { deviceId: "dev-1-a1b2c3" }),
		status: 201,
		returns: "The token.",
		reply: token,
		example: { token: "dev-1-a1b2c3.<signature>" },
	},
	"GET /api/device-setup": {
		summary: "How a device reaches this gateway, for the page that installs firmware on a board",
		roles: viewers,
		returns: "The addresses and the authority.",
		reply: deviceSetup,
		example: { addresses: ["ws://192.168.1.10:8080/device"], authority: null },
	},
});
