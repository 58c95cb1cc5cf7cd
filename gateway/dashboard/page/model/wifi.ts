/** Connected devices by Wi-Fi network and access point. */

import type { WiFiDevice } from "../../../api/wifi.js";
import { naturalOrder } from "./filter.js";
import { grouped } from "./rooms.js";

export interface AccessPoint {
	/** Null if its devices do not report it. */
	readonly bssid: string | null;
	readonly channel: number | null;
	/** Devices, the weakest signal first; at least one. */
	readonly devices: readonly WiFiDevice[];
	/** Weakest signal in dBm. */
	readonly weakest: number;
	/** Reconnects in the last 24 hours. */
	readonly reconnects: number;
}

export interface Network {
	readonly ssid: string;
	/** Access points, the one with the weakest device first. */
	readonly accessPoints: readonly AccessPoint[];
}

/** Groups devices by network, in natural order of the names. */
export function networksIn(devices: readonly WiFiDevice[]): readonly Network[] {
	return [...grouped(devices, ({ ssid }) => ssid)]
		.sort(([a], [b]) => naturalOrder(a, b))
		.map(([ssid, ofNetwork]) => ({
			ssid,
			accessPoints: [...grouped(ofNetwork, ({ bssid }) => bssid).values()]
				.map(accessPointOf)
				.sort((a, b) => a.weakest - b.weakest),
		}));
}

function accessPointOf(devices: readonly WiFiDevice[]): AccessPoint {
	const byStrength = [...devices].sort((a, b) => a.rssi - b.rssi);
	const [first] = byStrength;
	return {
		bssid: first?.bssid ?? null,
		channel: first?.channel ?? null,
		devices: byStrength,
		weakest: first?.rssi ?? 0,
		reconnects: devices.reduce((sum, { reconnects }) => sum + reconnects, 0),
	};
}
