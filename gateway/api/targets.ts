/** The devices that an announcement or a command is for, as they are asked for. */

import { boolean, changeOf, type Infer, list, optional, string } from "../../device/protocol/schema.js";

import { longestExpression } from "./tags.js";
import { freeText } from "./text.js";

/** Devices that may be named. */
const targetsAtMost = 10_000;
/** Of a request that names as many. */
export const maxTargetsBytes = targetsAtMost * 68;

/** One of them: all devices, those of a room, those whose tags match an expression, or the named ones. */
export const targets = changeOf({
	all: optional(boolean()),
	room: optional(freeText(64)),
	tags: optional(string(longestExpression)),
	devices: optional(list(string(64), targetsAtMost)),
});
export type Targets = Infer<typeof targets>;
