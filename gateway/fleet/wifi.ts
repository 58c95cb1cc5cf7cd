/** Serves `/api/wifi`: connected devices with their access points. */

import { uplinks } from "../../device/protocol/messages.js";
import { isRecord, matches } from "../../device/protocol/schema.js";
import { type WiFiDevice, wifiRoutes } from "../api/wifi.js";
import type { Core } from "../extension.js";
import { type Route, serve } from "../http/routes.js";
import type { Device } from "../sessions/device.js";
import type { Histories } from "./history.js";

/** Number of reports parsed per turn of the event loop, about 5 ms. */
const atOnce = 250;

export function createWiFiRoutes(core: Core, histories: Pick<Histories, "reconnects">): readonly Route[] {
	const { sessions, peers, yieldToLoop } = core;
	return serve(wifiRoutes, {
		"GET /api/wifi": async () => {
			await peers.fetchReports();
			const counts = await histories.reconnects();
			const devices: WiFiDevice[] = [];
			let parsed = 0;
			for (const device of [...sessions.devices.values()]) {
				if (!device.session.connected) continue;
				const described = describe(device, counts.get(device.deviceId) ?? 0);
				if (described) devices.push(described);
				parsed += 1;
				if (parsed % atOnce === 0) await yieldToLoop();
			}
			return { devices: devices.sort((a, b) => a.rssi - b.rssi) };
		},
	});
}

/** @returns undefined before its first report */
function describe({ deviceId, state }: Device, reconnects: number): WiFiDevice | undefined {
	const report: unknown = state.text === undefined ? undefined : JSON.parse(state.text);
	const network = isRecord(report) ? report.network : undefined;
	if (!matches(uplinks.state_report.fields.network, network)) return undefined;
	const {
		wifi_ssid: ssid,
		wifi_rssi: rssi,
		bssid = null,
		channel = null,
		last_loss: lastLoss = null,
	} = network;
	return { deviceId, ssid, bssid, channel, rssi, reconnects, lastLoss };
}
