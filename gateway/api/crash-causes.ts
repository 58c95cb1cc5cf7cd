/** Crashes of all devices, by cause and by version. */

import { crashKinds } from "../../device/protocol/messages.js";
import { boolean, oneOf } from "../../device/protocol/schema.js";
import { everyone } from "./permissions.js";
import { defineRoutes } from "./route.js";
import { array, closed, count, dateTime, described, type InferShape, nullable, text } from "./shapes.js";

const moment = {
	version: described(nullable(text), "of the firmware that crashed; null if unknown"),
	at: described(dateTime, "when a gateway received it"),
};
const causeMoment = closed(moment);
export type CauseMoment = InferShape<typeof causeMoment>;

const cause = closed({
	id: described(text, "of the signature: type, message and frames"),
	kind: oneOf(...crashKinds),
	message: described(text, "with # for numbers, addresses and hexadecimal texts"),
	frames: described(array(text), "at most 3 of this project, innermost first: `function (file)`, or a file"),
	count,
	first: causeMoment,
	last: causeMoment,
	versions: described(
		array(closed({ version: moment.version, count })),
		"at most 20, those with the most crashes first",
	),
	deviceCount: described(count, "from the last 20 crashes of each device, as are samples"),
	samples: described(
		array(closed({ ...moment, deviceId: text, crashId: text })),
		"the latest crash of at most 20 devices, the latest first",
	),
	seen: boolean(),
});
export type CrashCause = InferShape<typeof cause>;

const crashVersion = closed({
	version: text,
	count: described(count, "crashes"),
	deviceCount: described(count, "devices that have crashed, from the last 20 crashes of each"),
});
export type CrashVersion = InferShape<typeof crashVersion>;

const crashList = closed({
	causes: described(array(cause), "at most 500, the latest first"),
	versions: described(array(crashVersion), "at most 100, in no order"),
	dropped: described(count, "from the last 20 crashes of each device, those of causes that are not listed"),
});
export type CrashList = InferShape<typeof crashList>;

export const crashRoutes = defineRoutes("fleet", {
	"GET /api/crashes": {
		summary: "Crashes of all devices by cause and by version; the same at each of several gateways",
		roles: everyone,
		returns: "The latest cause first.",
		reply: crashList,
		example: {
			causes: [
				{
					id: "0f1e2d3c4b5a6978",
					kind: "exception",
					message: "TypeError: cannot decode face #",
					frames: ["onButton (device/rules.ts)", "device/main.ts"],
					count: 3,
					first: { version: "1.4.0", at: "2026-11-21T12:00:00.000Z" },
					last: { version: "1.4.0", at: "2026-11-21T13:00:00.000Z" },
					versions: [{ version: "1.4.0", count: 3 }],
					deviceCount: 1,
					samples: [
						{ deviceId: "dev-1-a1b2c3", crashId: "1a2b3c", version: "1.4.0", at: "2026-11-21T13:00:00.000Z" },
					],
					seen: false,
				},
			],
			versions: [{ version: "1.4.0", count: 30, deviceCount: 4 }],
			dropped: 0,
		},
	},
});
