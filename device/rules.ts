/** Maps connection states and button presses to the LED ring and the player. */

import type { ButtonName } from "./host.js";
import type { LinkState } from "./network/link.js";
import type { WiFiState } from "./network/wifi.js";
import { ledState } from "./peripherals/led-patterns.js";
import type { LedRing } from "./peripherals/led-ring.js";
import type { Peripherals } from "./peripherals/peripherals.js";

const volumeStep = 5;

/** Shows the Wi-Fi state; once Wi-Fi is connected, the ring shows the link to the gateway. */
export function showWiFi(state: WiFiState, ring: LedRing): void {
	if (state === "connecting") ring.connection = ledState.wifiConnecting;
	if (state === "failed") ring.connection = ledState.wifiFailed;
}

export function showLink(state: LinkState, ring: LedRing): void {
	if (state === "connecting") ring.connection = ledState.serverConnecting;
	if (state === "connected") ring.connection = ledState.connected;
	if (state === "failed" || state === "rejected") ring.connection = ledState.serverFailed;
	ring.isRejected = state === "rejected";
}

/**
 * Handles a button press.
 * @returns a function that undoes it if the press turns out to begin a factory reset (recovery.ts)
 */
export function onButton(
	name: ButtonName,
	{ ring, audio }: Pick<Peripherals, "ring" | "audio">,
): (() => void) | undefined {
	switch (name) {
		case "play": {
			if (ring.isUpdating || !audio) return undefined;
			const { isActive } = audio;
			audio.toggle();
			// A chime just started needs no undo: it ends by itself.
			return isActive ? () => audio.toggle() : undefined;
		}
		case "mute":
			audio?.toggleMute();
			if (audio) ring.showVolume(audio.volume);
			return () => audio?.toggleMute();
		case "volumeUp":
		case "volumeDown":
			audio?.changeVolume(name === "volumeUp" ? volumeStep : -volumeStep);
			if (audio) ring.showVolume(audio.volume);
			return undefined;
	}
}
