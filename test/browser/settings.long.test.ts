/** An administrator changes the settings of one device and of all, reads Wi-Fi and audit log, and downloads a backup. */

import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { test } from "node:test";
import { ArchiveReader } from "../../gateway/backup/archive.js";
import { call } from "../support/call.js";
import { skip } from "../support/chromium.js";
import { waitUntil } from "../support/eventually.js";
import { runGateway } from "../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../support/scripted-device.js";
import { checkView } from "./axe.js";
import { browsing, disclose, sees } from "./browsing.js";

const open = browsing();

test("settings", { skip }, async (t) => {
	const { url } = await runGateway(t);
	const connect = async (index: number, bssid: string, options: Partial<ScriptedDeviceOptions> = {}) => {
		const deviceId = `dev-1-00000${index}`;
		const report = {
			"network.wifi_ssid": "attic",
			"network.bssid": `02:00:00:00:00:0${bssid}`,
			"network.wifi_rssi": -40 - 10 * index,
			"network.reconnects": 0,
		};
		const device = await ScriptedDevice.join(t, { url, deviceId, report, ...options });
		return device;
	};
	const tried = await connect(0, "a", { executesCommands: false });
	const kept = [await connect(1, "a"), await connect(3, "b")];
	const reverting = await connect(2, "b", { settingsProblem: "the gateway rejected the token (401)" });
	await connect(4, "b", { features: [] });
	kept[1]?.report({ "network.reconnects": 3 });
	const page = await open(t, url, { view: "#/devices/dev-1-000000/settings", expected: /422/ });
	const panel = page.getByRole("region", { name: "Settings", exact: true });
	const field = (label: string) => panel.getByLabel(label, { exact: true });
	const apply = () => panel.getByRole("button", { name: "Apply" }).click();

	await t.test("of a device are tried, and kept once it is back", async () => {
		await page.getByText("Now: attic").waitFor();
		await field("Wi-Fi name").fill("workshop");
		await field("Wi-Fi password").fill("correct horse");
		await disclose(panel, "Advanced");
		await field("Default server").check();
		await checkView(page);
		await apply();
		await panel.getByRole("status").getByText("trying new settings").waitFor();
		await page.getByText(/left to reach a gateway$/).waitFor();
		await tried.receives({
			command: "set_settings",
			value: { ssid: "workshop", password: "correct horse", sntp: "" },
		});
		assert.equal(await field("Wi-Fi password").inputValue(), "");
		await checkView(page);
		tried.endTrial();
		await panel.getByText(/^Saved \d/).waitFor();
		await page.reload();
		await panel.getByText(/^Saved \d/).waitFor();
	});

	await t.test("of a device tell why it rejects or reverts them", async () => {
		await disclose(panel, "Advanced");
		await field("Gateway address").fill("http://gateway");
		await apply();
		await sees(panel.getByRole("alert"), /^Gateway address must be an address like ws/);
		await checkView(page);
		await page.goto(`${url}/#/devices/${reverting.deviceId}/settings`);
		await field("Token").fill("wrong-token");
		await apply();
		await panel.getByRole("alert").getByText("The gateway rejected the token (401).").waitFor();
		await checkView(page);
		await page.goto(`${url}/#/devices/dev-1-000004/settings`);
		await page.getByText("This firmware does not support new settings.").waitFor();
	});

	await t.test("of all devices change a few at a time, and stop at the first failure", async () => {
		await page.goto(`${url}/#/settings/devices`);
		await page.getByText("4 of 5 devices can receive").waitFor();
		await page.getByLabel("At a time").selectOption("1");
		await checkView(page);
		await page.getByRole("button", { name: "Replace the tokens of 4 devices" }).click();
		await checkView(page);
		await page.getByRole("dialog").getByRole("button", { name: "Replace the tokens" }).click();
		const progress = page.getByRole("region", { name: "New tokens" });
		await waitUntil(() => tried.commands.length === 2);
		tried.endTrial();
		await progress.getByText("1 failed, 1 canceled, 2 done").waitFor();
		await progress.getByRole("button", { name: "Details" }).click();
		await progress.getByText("failed: The gateway rejected the token (401).").waitFor();
		await checkView(page);
		assert.match(JSON.stringify(kept[0]?.commands), /"token":"dev-1-000001\./);
		assert.deepEqual(kept[1]?.commands, []);
	});

	await t.test("show the Wi-Fi of the fleet: access points, weak devices and reconnects", async () => {
		await page
			.getByRole("navigation", { name: "Parts of the settings" })
			.getByRole("link", { name: "Wi-Fi" })
			.click();
		await page.getByRole("status").getByText("5 devices").waitFor();
		await page.getByRole("link", { name: "Wi-Fi", exact: true }).and(page.locator(":focus")).waitFor();
		const rows = page.getByRole("list", { name: "Wi-Fi" }).getByRole("listitem");
		await sees(rows.filter({ hasText: "dev-1-000003" }), /^attic · 02:00:00:00:00:0b · .*3 reconnects/);
		await checkView(page);
	});

	await t.test("list in the audit log who changed what, also by the device", async () => {
		await call(url, "PATCH", "devices/dev-1-000001", { name: "Lobby speaker" });
		await page.getByRole("link", { name: "Audit log" }).click();
		const rows = page.getByRole("list", { name: "Audit log" }).getByRole("listitem");
		await sees(rows.first(), /named it “?Lobby speaker/);
		assert.doesNotMatch((await rows.allInnerTexts()).join(), /correct horse|wrong-token|[{}]/);
		await page.getByRole("searchbox", { name: "Search" }).fill("lobby speaker");
		await checkView(page);
	});

	await t.test("include a backup to download", async () => {
		await page.goto(`${url}/#/settings/devices`);
		assert.equal(await page.getByText("Webhooks").count(), 0, "the gateway has none");
		const downloading = page.waitForEvent("download");
		await page.getByRole("link", { name: "Download backup" }).click();
		const download = await downloading;
		const reader = new ArchiveReader(createReadStream(await download.path()));
		const names: string[] = [];
		for await (const { name } of reader.files()) names.push(name);
		assert.ok(reader.about, "whole");
		assert.ok(names.includes("data/tokens.json"), names.join());
	});
});
