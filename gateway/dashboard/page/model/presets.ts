/** What an LED ring can be told to show, as people call it. */

import type { LedPreset } from "../../../../device/protocol/messages.js";

export const presetWords: readonly (readonly [LedPreset, string])[] = [
	["rainbow", "Rainbow"],
	["connecting", "Connecting"],
	["failed", "Failed"],
	["updating", "Updating"],
	["idle", "Off"],
];
