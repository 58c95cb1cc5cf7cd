/** Routes and events between the demo and its page; the inputs are in hosts/virtual/node/input.ts. */

import type { ButtonName } from "../../device/host.js";
import { anyObject } from "../../gateway/api/json.js";
import { everyone, monitors } from "../../gateway/api/permissions.js";
import { defineRoutes, json } from "../../gateway/api/route.js";
import { array, closed, text } from "../../gateway/api/shapes.js";

const events = { type: "raw", content: { "text/event-stream": text } } as const;
const unknownDevice = "The demo runs no such device.";

export const demoRoutes = defineRoutes(null, {
	"GET /api/demo": {
		summary: "Ids of the devices that the demo runs",
		roles: everyone,
		returns: "The ids.",
		reply: closed({ devices: array(text) }),
	},
	"GET /api/demo/devices/:id/board": {
		summary: "Server-sent events of a board",
		roles: monitors,
		returns: "The events: BoardEvents.",
		reply: events,
		problems: { 404: unknownDevice },
	},
	"POST /api/demo/devices/:id/input": {
		summary:
			"Presses a button, or sets the light, the touch sensor or the signal, as hosts/virtual/node/input.ts reads it",
		roles: monitors,
		body: json(anyObject, { light: 2000 }),
		returns: "It is set.",
		problems: { 404: unknownDevice, 422: "The input is not valid." },
	},
	"POST /api/demo/devices/:id/power-cut": {
		summary: "Cuts the power of a device for a moment",
		roles: monitors,
		returns: "The device has started again.",
		problems: { 404: unknownDevice },
	},
	"POST /api/demo/releases": {
		summary: "Builds the next release from the sources",
		roles: monitors,
		status: 201,
		returns: "Its version.",
		reply: closed({ version: text }),
	},
});
export type DemoRoutes = (typeof demoRoutes)["routes"];

/** Server-sent events of a board, each with its data; all but `sound` and `more` are sent at the start of a stream, too. */
export interface BoardEvents {
	readonly inputs: BoardInputs;
	/** Of the codec, as a factor: 1 is 0 dB, 0 is silence. */
	readonly gain: number;
	/** What the speaker's output starts to play; null: it stops. */
	readonly sound: BoardSound | null;
	/** What follows, as `samples` of BoardSound, half a second before it is played. */
	readonly more: string;
	/** The version that the next release would have. */
	readonly next: string;
}

export interface BoardInputs {
	readonly pressed: readonly ButtonName[];
	/** 0 to 4095. */
	readonly light: number;
	readonly isTouched: boolean;
	/** In dBm; null: out of range of Wi-Fi. */
	readonly rssi: number | null;
}

export interface BoardSound {
	/** Signed, 16 bits, little-endian, mono; in base64. */
	readonly samples: string;
	/** In hertz. */
	readonly sampleRate: number;
}
