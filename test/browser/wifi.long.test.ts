import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { skip } from "../support/chromium.js";
import { runGateway } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { violations } from "./axe.js";
import { browsing } from "./browsing.js";

const open = browsing();

describe("Wi-Fi view", { skip }, () => {
	test("lists networks and access points, weakest first, with devices and reconnects", async (t) => {
		const { url } = await runGateway(t);
		for (const [deviceId, ssid, bssid, rssi] of [
			["dev-1-aaaaaa", "home", "02:00:00:00:00:0a", -45],
			["dev-1-bbbbbb", "home", "02:00:00:00:00:0b", -81],
			["dev-1-cccccc", "home", "02:00:00:00:00:0b", -60],
			["dev-1-dddddd", "guest", "02:00:00:00:00:0c", -50],
		] as const) {
			const report = {
				"network.wifi_ssid": ssid,
				"network.bssid": bssid,
				"network.wifi_rssi": rssi,
				"network.reconnects": 0,
			};
			const device = await new ScriptedDevice({ url, deviceId, report }).connect();
			t.after(() => device.close());
			if (deviceId === "dev-1-cccccc") device.report({ "network.reconnects": 3 });
		}
		const page = await open(t, url, { view: "#/wifi" });
		await page.getByRole("status").getByText("2 Wi-Fi networks").waitFor();
		const home = page.getByRole("region", { name: "home" });
		await home.getByText("2 devices, 3 reconnects in 24 h").waitFor();
		assert.match(
			(await home.locator("summary").first().innerText()).replace(/\s+/g, " "),
			/0b.*2 devices.*−81 dBm/,
		);
		await home.locator("summary").first().click();
		const rows = home.getByRole("listitem");
		await rows.nth(1).getByText("3 reconnects in 24 h, last disconnect: signal lost").waitFor();
		assert.match(await rows.first().innerText(), /bbbbbb/);
		assert.deepEqual(await violations(page), []);
		await rows.first().getByRole("link", { name: "dev-1-bbbbbb" }).click();
		await page.getByRole("heading", { name: "dev-1-bbbbbb" }).waitFor();
	});
});
