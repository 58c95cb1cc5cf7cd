/** Order of lists and search results. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { uplinkExamples } from "../../scripts/api/examples.js";
import { skip } from "../support/chromium.js";
import { writeReleases } from "../support/releases.js";
import { bearer, monitorToken, noRateLimits, runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../support/scripted-device.js";
import { browsing } from "./browsing.js";

const open = browsing();

interface Labelled {
	readonly name: string;
	readonly room?: string;
	readonly options?: Partial<ScriptedDeviceOptions>;
}

const { crash } = uplinkExamples.crash_report;
/** Devices; the last digit of an id is its index. Each has a distinct signal. */
const labelled: readonly Labelled[] = [
	{ name: "Zoo", room: "Zoo", options: { crash, version: crash.firmware_version } },
	{ name: "Lobby 10", room: "Lobby 10", options: { ending: "waits" } },
	{ name: "Meeting room 1 14" },
	{ name: "Lobby 2", room: "Lobby 2" },
	{ name: "Meeting room 2 14" },
	{ name: "Äpfel", room: "Äpfel" },
	{ name: "Lobby 1", room: "Lobby 1" },
];
const away = 6;
const signals = [-50, -84, -60, -70, -90, -65, -88];

function idOf(index: number): string {
	return `dev-1-00000${index}`;
}

function names(page: Page): Promise<readonly string[]> {
	return page.locator(".device-row h2").allTextContents();
}

test("order on the page", { skip }, async (t) => {
	const dataDir = await temporaryDirectory(t);
	const releasesDir = join(dataDir, "releases");
	await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
	const { url, monitor } = await runGateway(t, { ...noRateLimits, dataDir, releasesDir });
	const client = await monitor();
	for (const [index, { name, room = "", options }] of labelled.entries()) {
		const deviceId = idOf(index);
		const report = { "network.wifi_rssi": signals[index] ?? 0 };
		const device = await new ScriptedDevice({ url, deviceId, report, ...options }).connect();
		t.after(() => device.close());
		await client.change("connected");
		const headers = { ...bearer(monitorToken), "Content-Type": "application/json" };
		const body = JSON.stringify({ name, room });
		const { status } = await fetch(`${url}/api/devices/${deviceId}`, { method: "PATCH", headers, body });
		assert.equal(status, 200);
		if (index === away) device.close();
		if (options?.ending === "waits") {
			await client.request({ type: "trigger_ota", targetId: deviceId, version: "1.4.0" });
			await device.offered;
		}
	}
	const page = await open(t, url, { view: "#/?view=list" });
	await page.getByText("6 of 7 connected").waitFor();
	const sortBy = async (sort: string, first: string) => {
		await page.getByRole("combobox", { name: "Sort by" }).selectOption(sort);
		await page.locator(".device-row").first().getByRole("link", { name: first, exact: true }).waitFor();
		return names(page);
	};

	await t.test("sorts names and rooms in natural order", async () => {
		const rooms = ["Äpfel", "Lobby 1", "Lobby 2", "Lobby 10", "Zoo"];
		const others = ["Meeting room 1 14", "Meeting room 2 14"];
		assert.deepEqual(await names(page), [...rooms, ...others], "devices without a room are last");
		await page.getByRole("region", { name: "No room" }).waitFor();
		await page.getByRole("button", { name: "Table" }).click();
		const rows = page.locator(".table-body td.of-name a");
		await rows.nth(6).waitFor();
		assert.deepEqual(await rows.allTextContents(), [...rooms.slice(0, 4), ...others, "Zoo"]);
		await page.getByRole("button", { name: "List" }).click();
	});

	await t.test("lists an exact match first in search results", async () => {
		// The words also occur in the name and id of dev-1-000002, which sorts first by name.
		const search = page.getByRole("searchbox", { name: "Search" });
		await search.fill("meeting room 2 14");
		await page.getByText("2 of 7 devices").waitFor();
		assert.deepEqual(await names(page), ["Meeting room 2 14", "Meeting room 1 14"]);
		await search.press("Enter");
		await page.getByRole("heading", { level: 1, name: "Meeting room 2 14" }).waitFor();
		await page.goBack();
		await search.fill("");
		await page.getByText("6 of 7 connected").waitFor();
	});

	await t.test("sorts devices with issues before downloads", async () => {
		await page.getByRole("button", { name: "Filter" }).click();
		const [first, second, third] = await sortBy("state", "Zoo");
		assert.deepEqual([first, second, third], ["Zoo", "Lobby 1", "Lobby 10"], "crashed, away, downloading");
	});

	await t.test("sorts by signal, weakest first, devices without a signal last", async () => {
		const bySignal = await sortBy("signal", "Meeting room 2 14");
		const byPlace = new Map(labelled.map(({ name }, index) => [name, index]));
		assert.deepEqual(
			bySignal.map((name) => byPlace.get(name)),
			[4, 1, 3, 5, 2, 0, away],
		);
		await page.getByRole("button", { name: "Table" }).click();
		await page.locator("th[aria-sort=ascending]", { hasText: "Signal" }).waitFor();
		const rows = page.locator(".table-body tr td.of-name a");
		assert.deepEqual(await rows.allTextContents(), bySignal);
	});

	await t.test("exposes names, not ids, to screen readers", async () => {
		for (const [role, action] of [
			["checkbox", "Select"],
			["button", "Flash light of"],
		] as const) {
			const named = page.locator(".table-body").getByRole(role, { name: new RegExp(`^${action} `) });
			const labels = await named.evaluateAll((all) => all.map((one) => one.ariaLabel ?? ""));
			assert.deepEqual(labels.sort(), labelled.map(({ name }) => `${action} ${name}`).sort());
		}
	});
});
