/** The LED ring's presets, by their names for people. */

import type { LedPreset } from "../../../../device/protocol/messages.js";

export const presetWords: readonly (readonly [LedPreset, string])[] = [
	["rainbow", "Rainbow"],
	["connecting", "Connecting"],
	["failed", "Failed"],
	["updating", "Updating"],
	["idle", "Off"],
];
