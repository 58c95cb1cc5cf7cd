/** What the devices of a benchmark say: whole state reports, each with the moment at which it was sent. */

/** Digits of `now()`. */
const stampDigits = 16;

/** Microseconds on a clock that all processes of this computer share. */
export function now(): number {
	return Number(process.hrtime.bigint() / 1000n);
}

export function deviceIdOf(index: number): string {
	return `dev-1-${index.toString(16).padStart(6, "0")}`;
}

/** The report of one device, but for its last field, the moment: see `stamped`. */
export function reportHead(index: number): string {
	const serial = index.toString(16).padStart(6, "0");
	const report = {
		type: "state_report",
		deviceId: deviceIdOf(index),
		timestamp: "2026-11-20T12:00:00.000Z",
		system: {
			mac_address: `02:00:00:${serial.slice(0, 2)}:${serial.slice(2, 4)}:${serial.slice(4)}`,
			model: "DEV-1",
			firmware_version: "1.2.3",
			idf_version: "v6.0",
			cpu_freq_mhz: 240,
			flash_size_mb: 16,
			psram_size_mb: 8,
		},
		health: {
			uptime_seconds: 86_400,
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
		},
	};
	return `${JSON.stringify(report).slice(0, -1)},"sent":"`;
}

export function stamped(head: string): string {
	return `${head}${String(now()).padStart(stampDigits, "0")}"}`;
}

const kindAt = '{"type":"'.length;
const kind = "device_message";

/** When a relayed report was sent, in microseconds; undefined for any other frame. */
export function sentAt(frame: Buffer): number | undefined {
	if (frame.toString("latin1", kindAt, kindAt + kind.length) !== kind) return undefined;
	const end = frame.length - '"}}'.length;
	const stamp = frame.toString("latin1", end - stampDigits, end);
	return /^\d+$/.test(stamp) ? Number(stamp) : undefined;
}
