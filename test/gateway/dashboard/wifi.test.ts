import assert from "node:assert/strict";
import { test } from "node:test";
import type { WiFiDevice } from "../../../gateway/api/wifi.js";
import { networksIn } from "../../../gateway/dashboard/page/model/wifi.js";

function device(
	deviceId: string,
	ssid: string,
	bssid: string | null,
	rssi: number,
	reconnects = 0,
): WiFiDevice {
	return { deviceId, ssid, bssid, channel: bssid === null ? null : 6, rssi, reconnects, lastLoss: null };
}

test("groups devices by network and access point, weakest first, with reconnects", () => {
	const networks = networksIn([
		device("d1", "home 10", "02:00:00:00:00:0a", -40, 1),
		device("d2", "home 2", null, -50),
		device("d3", "home 10", "02:00:00:00:00:0b", -80, 2),
		device("d4", "home 10", "02:00:00:00:00:0a", -60, 4),
	]);
	assert.deepEqual(
		networks.map(({ ssid, accessPoints }) => [
			ssid,
			accessPoints.map(({ bssid, weakest, reconnects, devices }) => [
				bssid,
				weakest,
				reconnects,
				...devices.map((device) => device.deviceId),
			]),
		]),
		[
			["home 2", [[null, -50, 0, "d2"]]],
			[
				"home 10",
				[
					["02:00:00:00:00:0b", -80, 2, "d3"],
					["02:00:00:00:00:0a", -60, 5, "d4", "d1"],
				],
			],
		],
	);
});
