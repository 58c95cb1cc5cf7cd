/** Crashes of all devices, by cause and by version. */

import { crashKinds } from "../../device/protocol/messages.js";
import { boolean, oneOf } from "../../device/protocol/schema.js";
import { everyone } from "./permissions.js";
import { defineRoutes } from "./route.js";
import { array, closed, count, dateTime, described, type InferShape, nullable, text } from "./shapes.js";

const occurrence = {
	version: described(nullable(text), "version of the crashed firmware; null if unknown"),
	at: described(dateTime, "time of receipt at a gateway"),
};
const crashOccurrence = closed(occurrence);
export type CrashOccurrence = InferShape<typeof crashOccurrence>;

const cause = closed({
	id: described(
		text,
		"hash of the signature: type, frames, and the message without numbers, addresses and hexadecimal text",
	),
	kind: oneOf(...crashKinds),
	message: described(text, "message of the first crash"),
	frames: described(
		array(text),
		"at most 3 frames of this project, innermost first: `function (file)`, or a file",
	),
	count,
	first: crashOccurrence,
	last: crashOccurrence,
	versions: described(
		array(closed({ version: occurrence.version, count })),
		"at most 20, most crashes first",
	),
	deviceCount: described(count, "number of devices, by the last 20 crashes of each, as are samples"),
	samples: described(
		array(closed({ ...occurrence, deviceId: text, crashId: text })),
		"latest crash of at most 20 devices, latest first",
	),
	seen: boolean(),
});
export type CrashCause = InferShape<typeof cause>;

const crashList = closed({
	causes: described(array(cause), "at most 500, latest first"),
	versions: described(
		array(
			closed({
				version: text,
				count: described(count, "number of crashes with the listed causes"),
				deviceCount: described(count, "number of crashed devices, by the last 20 crashes of each"),
			}),
		),
		"at most 100, most crashes first",
	),
	dropped: described(
		count,
		"number of crashes with causes that are not listed, by the last 20 crashes of each device",
	),
});
export type CrashList = InferShape<typeof crashList>;

export const crashRoutes = defineRoutes("fleet", {
	"GET /api/crashes": {
		summary: "Lists crashes of all devices by cause and by version; the same at each gateway of a cluster",
		roles: everyone,
		reply: crashList,
	},
});
