/** Targets of announcements and commands. */

import { boolean, changeOf, type Infer, list, optional, string } from "../../device/protocol/schema.js";

import { maxExpressionLength } from "./tags.js";
import { freeText } from "./text.js";

/** Maximum number of named devices. */
const maxTargets = 10_000;
/** Size limit of a request that names as many devices. */
export const maxTargetsBytes = maxTargets * 68;

/** Exactly one of: all devices, a room, a tag expression, or named devices. */
export const targets = changeOf({
	all: optional(boolean()),
	room: optional(freeText(64)),
	tags: optional(string(maxExpressionLength)),
	devices: optional(list(string(64), maxTargets)),
});
export type Targets = Infer<typeof targets>;
