/** What `GET /api/wifi` answers. */

/** A connected device that has reported. */
export interface WiFiDevice {
	readonly deviceId: string;
	readonly ssid: string;
	/** Of the access point; null: firmware that does not report it, as the channel. */
	readonly bssid: string | null;
	readonly channel: number | null;
	/** In dBm. */
	readonly rssi: number;
	/** In the last 24 hours, since the gateway's start or since the device has moved to it. */
	readonly reconnects: number;
	/** Why its Wi-Fi was last lost; null: never since the device's start, or it does not report it. */
	readonly lastLoss: string | null;
}

export interface WiFiOverview {
	/** Weakest signal first. */
	readonly devices: readonly WiFiDevice[];
}
