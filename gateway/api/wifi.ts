/** Wi-Fi overview: connected devices with their access points. */

import { integer } from "../../device/protocol/schema.js";
import { viewers } from "./permissions.js";
import { defineRoutes } from "./route.js";
import { array, closed, count, described, type InferShape, nullable, text, wholeNumber } from "./shapes.js";

/** Connected device with a report. */
export const wifiDevice = closed({
	deviceId: text,
	ssid: text,
	bssid: described(
		nullable(text),
		"access point; null if the firmware does not report it, as is the channel",
	),
	channel: nullable(integer(1, Number.MAX_SAFE_INTEGER)),
	rssi: described(wholeNumber, "in dBm"),
	reconnects: described(
		count,
		"number in the last 24 hours, since the gateway's start or the device's connection to it",
	),
	lastLoss: described(
		nullable(text),
		"reason of the latest loss of Wi-Fi; null: none since the device's start, or not reported",
	),
});
export type WiFiDevice = InferShape<typeof wifiDevice>;

export const wifiRoutes = defineRoutes("fleet", {
	"GET /api/wifi": {
		summary: "Lists connected devices with their access points, weakest signal first",
		roles: viewers,
		reply: closed({ devices: array(wifiDevice) }),
	},
});
