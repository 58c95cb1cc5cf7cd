/** The LED ring's presets, and its effects as a light, by their names for people. */

import type { LedPreset, LightEffect } from "../../../../device/protocol/messages.js";

export const presetWords: readonly (readonly [LedPreset, string])[] = [
	["rainbow", "Rainbow"],
	["connecting", "Connecting"],
	["failed", "Failed"],
	["updating", "Updating"],
	["idle", "Off"],
];

/** Without `progress`, which programs show. */
export const effectWords: readonly (readonly [LightEffect, string])[] = [
	["solid", "Solid"],
	["breathe", "Breathe"],
	["blink", "Blink"],
	["turn", "Turn"],
];
