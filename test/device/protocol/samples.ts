/** Messages as a device sends them, for tests to take apart. Fresh objects each time: change them freely. */

import type { Model } from "../../../device/protocol/schema.js";

/** A JSON value that a test may alter anywhere. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

export function sampleReport(model: Model): { [name: string]: Json } {
	return {
		type: "state_report",
		deviceId: `${model.toLowerCase()}-a1b2c3`,
		timestamp: "2026-11-20T12:00:00.000Z",
		system: {
			mac_address: "02:00:00:a1:b2:c3",
			model,
			firmware_version: "1.2.3",
			idf_version: "v6.0",
			cpu_freq_mhz: 240,
			flash_size_mb: 16,
			psram_size_mb: 8,
		},
		health: {
			uptime_seconds: 5,
			free_heap_bytes: 190_000,
			min_free_heap_bytes: 150_000,
			reset_reason: "POWERON_RESET",
		},
		network: {
			wifi_connected: true,
			wifi_ssid: "home",
			wifi_rssi: -50,
			ip_address: "192.168.1.20",
			websocket_connected: true,
		},
		peripherals: {
			audio: { volume: 50, player_state: "idle", current_track: "none" },
			led_ring: { state_id: 5, state_name: "rainbow", brightness_coef: 0.5 },
			buttons: { btn_play: false, btn_mute: false, btn_vol_up: false, btn_vol_down: false },
			...(model === "PROTO-1" && { haptic_intensity: 0, ambient_light: 2000, touch_active: false }),
		},
	};
}

/** The message with the field at `path` (names joined by dots) set to `value`, or taken out where it is undefined. */
export function altered(
	message: { [name: string]: Json },
	path: string,
	value: Json | undefined,
): { [name: string]: Json } {
	const [name = "", ...rest] = path.split(".");
	const copy = { ...message };
	const inner = copy[name];
	if (rest.length > 0 && typeof inner === "object" && inner !== null && !Array.isArray(inner))
		copy[name] = altered(inner, rest.join("."), value);
	else if (value === undefined) delete copy[name];
	else copy[name] = value;
	return copy;
}
