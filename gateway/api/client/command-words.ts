/** Commands, the LED ring's presets and effects, and chimes by their names for people. */

import type { Chime, LedPreset, LightEffect } from "../../../device/protocol/messages.js";
import type { Ask } from "../command.js";
import { capital } from "./words.js";

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

export const chimeWords: Readonly<Record<Chime, string>> = {
	startup: "Start-up",
	wifi_connecting: "Wi-Fi connecting",
	wifi_connected: "Wi-Fi connected",
	attention: "Attention",
};

/** "Volume 40" */
export function titleOf(payload: Ask): string {
	switch (payload.command) {
		case "set_volume":
			return payload.value === 0 ? "Mute" : `Volume ${payload.value}`;
		case "set_brightness":
			return `Brightness ${Math.round(payload.value * 100)} %`;
		case "set_led":
			return `Ring: ${presetWords.find(([one]) => one === payload.value)?.[1] ?? payload.value}`;
		case "play_audio":
			return `Chime: ${chimeWords[payload.value]}`;
		case "boot_device":
			return "Reconnect";
		default:
			return capital(payload.command.replaceAll("_", " "));
	}
}
