/** Routes and events between the demo and its page; inputs are defined in hosts/virtual/node/input.ts. */

import type { ButtonName } from "../../device/host.js";
import { anyObject } from "../../gateway/api/json.js";
import { everyone, monitors } from "../../gateway/api/permissions.js";
import { defineRoutes, json } from "../../gateway/api/route.js";
import { array, closed, text } from "../../gateway/api/shapes.js";

const events = { type: "raw", content: { "text/event-stream": text } } as const;
const unknownDevice = "Unknown device of the demo.";

export const demoRoutes = defineRoutes(null, {
	"GET /api/demo": {
		summary: "Ids of the demo's devices",
		roles: everyone,
		returns: "The ids.",
		reply: closed({ devices: array(text) }),
	},
	"GET /api/demo/devices/:id/board": {
		summary: "Server-sent events of a board",
		roles: monitors,
		returns: "The events: changes of BoardState.",
		reply: events,
		problems: { 404: unknownDevice },
	},
	"POST /api/demo/devices/:id/input": {
		summary:
			"Presses a button, or sets the light, the touch sensor or the signal, as hosts/virtual/node/input.ts reads it",
		roles: monitors,
		body: json(anyObject, { light: 2000 }),
		returns: "The input was applied.",
		problems: { 404: unknownDevice, 422: "The input is not valid." },
	},
	"POST /api/demo/devices/:id/power-cut": {
		summary: "Cuts the power of a device briefly",
		roles: monitors,
		returns: "The device restarted.",
		problems: { 404: unknownDevice },
	},
	"POST /api/demo/releases": {
		summary: "Builds the next release from the sources",
		roles: monitors,
		status: 201,
		returns: "Version of the release.",
		reply: closed({ version: text }),
	},
});
export type DemoRoutes = (typeof demoRoutes)["routes"];

/** State of a board; each event has some of its fields, and the first one all except `sound`. */
export interface BoardState {
	readonly inputs: {
		readonly pressed: readonly ButtonName[];
		/** 0 to 4095. */
		readonly light: number;
		readonly isTouched: boolean;
		/** Signal in dBm; null out of range. */
		readonly rssi: number | null;
	};
	/** Red, green and blue of each LED, linear, in hex. */
	readonly ring: string;
	/** Gain of the codec as a factor: 1 is 0 dB, 0 is silence. */
	readonly gain: number;
	/** Next samples of a sound, half a second ahead: signed 16 bits, little-endian, mono, 16 kHz, in base64. Null when it stops. */
	readonly sound: string | null;
	/** Version of the next release. */
	readonly next: string;
}
