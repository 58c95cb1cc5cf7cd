/**
 * A state report as a healthy device sends it: the example in the API's documents, what a benchmark's devices say, and what
 * tests alter.
 */

import type { StateReport } from "../device/protocol/messages.js";
import type { Model } from "../device/protocol/schema.js";

/** @returns a fresh one each time */
export function sampleReport(model: Model): StateReport {
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
			uptime_seconds: 3600,
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
