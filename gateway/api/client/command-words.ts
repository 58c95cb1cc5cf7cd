/** The LED ring's presets and effects, and chimes by their names for people. */

import type { Chime, LedPreset, LightEffect } from "../../../device/protocol/messages.js";

export const presetWords: readonly (readonly [LedPreset, string])[] = [
	["rainbow", "Rainbow"],
	["connecting", "Connecting"],
	["failed", "Failed"],
	["updating", "Updating"],
	["idle", "Off"],
];

/** Presets that people choose; the others show states of the firmware. */
export const chosenPresets = presetWords.filter(([preset]) => preset === "rainbow" || preset === "idle");

/** Effects that people choose; `progress` is for programs. */
export const effectWords: readonly (readonly [LightEffect, string])[] = [
	["solid", "Solid"],
	["breathe", "Breathe"],
	["blink", "Blink"],
	["turn", "Spin"],
];

/** Chimes that people choose. */
export const chosenChimes = ["startup", "attention"] as const satisfies readonly Chime[];

export const chimeWords: Readonly<Record<Chime, string>> = {
	startup: "Start-up",
	wifi_connecting: "Wi-Fi connecting",
	wifi_connected: "Wi-Fi connected",
	attention: "Attention",
};
