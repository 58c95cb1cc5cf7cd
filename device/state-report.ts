/** Builds the state report (gateway/api/interface.md, "State report"). */

import type { System } from "./host.js";
import type { Clock } from "./network/clock.js";
import type { Link } from "./network/link.js";
import type { WiFiStation } from "./network/wifi.js";
import { inactiveAudio } from "./peripherals/audio.js";
import type { Peripherals } from "./peripherals/peripherals.js";
import type { CompleteReport } from "./protocol/messages.js";
import { hasPart, type Model } from "./protocol/models.js";

export interface ReportSources {
	readonly deviceId: string;
	readonly model: Model;
	readonly system: System;
	readonly clock: Clock;
	readonly wifi: WiFiStation;
	readonly link: Link;
	readonly peripherals: Peripherals;
	readonly isSafeMode: boolean;
}

export function readState(sources: ReportSources): CompleteReport {
	const { deviceId, model, system, clock, wifi, link, isSafeMode } = sources;
	const { audio, ring, buttons, quiet, haptics, light, roomBrightness, touch } = sources.peripherals;
	return {
		type: "state_report",
		deviceId,
		timestamp: new Date().toISOString(),
		system: {
			mac_address: system.macAddress,
			model,
			firmware_version: system.firmwareVersion,
			security_version: system.securityVersion > 0 ? system.securityVersion : undefined,
			image: system.imageId,
			idf_version: system.idfVersion,
			cpu_freq_mhz: system.cpuFrequencyMHz,
			flash_size_mb: system.flashSizeMB,
			psram_size_mb: system.psramSizeMB,
		},
		health: {
			uptime_seconds: Math.floor(system.uptimeMs / 1000),
			free_heap_bytes: system.freeHeapBytes,
			min_free_heap_bytes: system.minFreeHeapBytes,
			reset_reason: system.resetReason,
			safe_mode: isSafeMode || undefined,
			clock_ahead_seconds: clock.aheadSeconds,
		},
		network: {
			...wifi.report,
			websocket_connected: link.state === "connected",
		},
		peripherals: {
			audio: audio?.report ?? inactiveAudio(),
			led_ring: { ...ring.report, auto_brightness: roomBrightness?.isOn || undefined },
			buttons: buttons.report,
			// In safe mode these parts exist but are not used.
			haptic_intensity: hasPart(model, "haptics") ? (haptics?.intensity ?? 0) : undefined,
			ambient_light: hasPart(model, "ambientLight") ? (light?.level ?? 0) : undefined,
			ambient_light_fault: light?.fault,
			touch_active: hasPart(model, "touch") ? (touch?.isActive ?? false) : undefined,
			touch_fault: touch?.fault,
		},
		quiet: quiet.report,
	};
}
