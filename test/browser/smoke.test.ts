/** Smoke test of the page: each main view renders, and a command reaches its device. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { skip } from "../support/chromium.js";
import { writeReleases } from "../support/releases.js";
import { runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { browsing } from "./browsing.js";

const open = browsing();
const deviceId = "proto-1-5c02fe";

const views = [
	["the fleet", "#/", `text=${deviceId}`],
	["the fleet as a table", "#/?view=table", ".table-body"],
	["a device", `#/devices/${deviceId}/history`, ".plot svg"],
	["firmware", "#/firmware", "text=1.4.0 >> visible=true"],
	["settings of all devices", "#/settings/devices", ".fleet-settings .field"],
	["announcing", "#/announce", ".announce .primary"],
	["adding a device", "#/add", ".install"],
] as const;

test("shows each main view, and delivers a command to its device", { skip }, async (t) => {
	const dataDir = await temporaryDirectory(t);
	const releasesDir = join(dataDir, "releases");
	await writeReleases(releasesDir, [{ version: "1.4.0", model: "PROTO-1", chip: "esp32s3" }]);
	const { url, monitor } = await runGateway(t, { dataDir, releasesDir });
	const watcher = await monitor();
	const device = await new ScriptedDevice({ url, deviceId, model: "PROTO-1" }).connect();
	t.after(() => device.close());
	await watcher.change("identified");
	// The page works without these extensions.
	const isWhole = ["gateway/fleet", "gateway/rollouts", "gateway/announcements"].every((folder) =>
		existsSync(folder),
	);
	const page = await open(t, url, isWhole ? {} : { expected: /404 \(Not Found\)/ });
	for (const [name, view, shown] of views)
		await t.test(name, async () => {
			await page.goto(`${url}/${view}`);
			await page.locator(shown).first().waitFor();
		});
	await t.test("delivers a command", async () => {
		await page.goto(`${url}/#/device/${deviceId}`);
		const volume = page.getByLabel("Volume", { exact: true });
		await volume.fill("80");
		await page.locator(".control", { has: volume }).getByText("80", { exact: true }).waitFor();
		await device.receives({ command: "set_volume", value: 80 });
	});
});
