/** Runs axe on states caused by events, in addition to those of accessibility.long.test.ts. */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { WebSocket } from "ws";
import { skip } from "../support/chromium.js";
import { makeImage } from "../support/images.js";
import { putRollout, quickPlan, runReleasedFleet } from "../support/released-fleet.js";
import { bearer, deviceToken, runGateway } from "../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../support/scripted-device.js";
import { violations } from "./axe.js";
import { browsing, gatewayAway, type OpenOptions } from "./browsing.js";

const open = browsing();
/** Console message of Chromium for a rejected request. */
const expected = /status of 4(01|22)/;

async function isClean(page: Page): Promise<void> {
	assert.deepEqual(await violations(page), []);
}

describe("axe reports no violations for", { skip }, () => {
	const look: OpenOptions = { expected };

	/** Opens the page of a gateway with release 1.4.0 and these devices, dev-1-000000 first. */
	async function setUp(t: TestContext, devices: readonly Partial<ScriptedDeviceOptions>[], view: string) {
		const released = await runReleasedFleet(t, devices);
		return { ...released, page: await open(t, released.url, { ...look, view }) };
	}

	test("a device that is updating, offline, or failed to update", async (t) => {
		const { page, fleet } = await setUp(t, [{ ending: "waits" }], "#/devices/dev-1-000000/firmware");
		await page.getByRole("button", { name: "Update" }).click();
		fleet[0]?.progress(40);
		await page.getByText("Downloading 40 %").first().waitFor();
		await isClean(page);
		fleet[0]?.close();
		await page.locator(".as-of").waitFor();
		await isClean(page);
		await fleet[0]?.connect();
		await fleet[0]?.finish("fails");
		await page.getByText("HTTP connection failed").first().waitFor();
		await isClean(page);
	});

	test("a device that is restarting, rejected a command, or has not reported", async (t) => {
		const { page, url, fleet } = await setUp(t, [{ executesCommands: false }], "#/device/dev-1-000000");
		await page.locator(".hero").locator("summary", { hasText: "More" }).click();
		await page.getByRole("button", { name: "Restart" }).click();
		await page.getByText("restarting").waitFor();
		await isClean(page);
		fleet[0]?.refuse("restart", "an update is under way");
		await page.getByText("An update is under way.").waitFor();
		await isClean(page);
		const headers = { ...bearer(deviceToken), "Device-Id": "dev-1-silent" };
		const silent = new WebSocket(`${url.replace("http", "ws")}/device`, { headers });
		t.after(() => silent.terminate());
		await page.goto(`${url}/#/device/dev-1-silent`);
		await page.getByText("No report yet").waitFor();
		await isClean(page);
	});

	test("settings on trial, rejected and saved, for one device and for all", async (t) => {
		const problem = { settingsProblem: "the gateway rejected the token (401)" };
		const { page, url, fleet } = await setUp(
			t,
			[{ executesCommands: false }, problem],
			"#/devices/dev-1-000000/settings",
		);
		const panel = page.getByRole("region", { name: "Settings", exact: true });
		await panel.getByText("Advanced").click();
		await panel.getByLabel("Time server").fill("time.example");
		await panel.getByRole("button", { name: "Apply" }).click();
		await panel.getByText("trying new settings").waitFor();
		await isClean(page);
		fleet[0]?.endTrial();
		await panel.getByText("Saved").waitFor();
		await isClean(page);
		await page.goto(`${url}/#/devices/dev-1-000001/settings`);
		await panel.getByLabel("Token").fill("wrong-token");
		await panel.getByRole("button", { name: "Apply" }).click();
		await panel.getByText("The gateway rejected the token (401).").waitFor();
		await isClean(page);
		await page.goto(`${url}/#/settings/devices`);
		await page.getByLabel("At a time").selectOption("1");
		await page.getByRole("button", { name: "Replace the tokens of 2 devices" }).click();
		await isClean(page);
		await page.getByRole("dialog").getByRole("button", { name: "Replace the tokens of 2 devices" }).click();
		const progress = page.getByRole("region", { name: "New tokens" });
		await progress.getByText("Sent to 1, 1 queued").waitFor();
		await isClean(page);
		fleet[0]?.endTrial();
		await progress.getByText("1 failed, 1 done").waitFor();
		await isClean(page);
	});

	test("a rejected and an accepted upload", async (t) => {
		const { page } = await setUp(t, [{}], "#/firmware");
		const file = { name: "device.bin", mimeType: "application/octet-stream" };
		const input = page.getByLabel(/Drop a .bin file/);
		await input.setInputFiles({ ...file, buffer: Buffer.from("no firmware".padEnd(4000)) });
		await page.getByRole("alert").filter({ hasText: "was rejected" }).waitFor();
		await isClean(page);
		await input.setInputFiles({ ...file, buffer: makeImage({ version: "1.2.4" }) });
		await page.getByText("device.bin uploaded.").waitFor();
		await isClean(page);
	});

	test("running, waiting, paused, scheduled and canceled rollouts", async (t) => {
		const devices = Array.from({ length: 5 }, () => ({ ending: "waits" }) as const);
		const { page, url, fleet } = await setUp(t, devices, "#/firmware");
		const of = (...indices: readonly number[]) => ({
			devices: indices.flatMap((index) => fleet[index]?.deviceId ?? []),
		});
		const groups = [
			{ size: 1, soakSeconds: 0 },
			{ size: "rest", soakSeconds: 0, approval: true },
		] as const;
		await putRollout(url, "waits", quickPlan({ target: of(0, 1), groups }));
		await putRollout(url, "runs", quickPlan({ target: of(2, 3) }));
		const later = { target: of(4), startsAt: new Date(Date.now() + 3_600_000).toISOString() };
		await putRollout(url, "later", quickPlan(later));
		await fleet[0]?.offered;
		await fleet[0]?.finish("updates");
		await page.getByText("Waiting for approval").waitFor();
		await page.getByText("Scheduled").waitFor();
		await page.getByRole("link", { name: /2 devices.*Running/ }).waitFor();
		await isClean(page);
		await page.getByRole("link", { name: /2 devices.*Running/ }).click();
		await page.getByRole("button", { name: "2 updating" }).click();
		await page.getByRole("list", { name: "Updating devices" }).waitFor();
		await isClean(page);
		await page.getByRole("button", { name: "Pause" }).click();
		await page.getByRole("status").getByText("Paused").waitFor();
		await page.getByRole("button", { name: "Cancel" }).click();
		await page.getByRole("dialog").waitFor();
		await isClean(page);
		await page.getByRole("dialog").getByRole("button", { name: "Cancel rollout" }).click();
		await page.getByRole("status").getByText("Canceled").waitFor();
		await isClean(page);
	});

	test("a fleet with offline and rejected devices, also while the gateway is unreachable", async (t) => {
		const { url, gateway } = await runGateway(t);
		const device = await new ScriptedDevice({ url, deviceId: "dev-1-000000" }).connect();
		const away = await new ScriptedDevice({ url, deviceId: "dev-1-000001" }).connect();
		t.after(() => device.close());
		const headers = { "Device-Id": "dev-1-0000aa", ...bearer("a-token-that-is-not-the-right-one") };
		const refused = new WebSocket(`${url.replace("http", "ws")}/device`, { headers });
		await new Promise((resolve) => refused.once("error", resolve));
		const page = await open(t, url, { ...look, view: "#/attention" });
		await page.getByRole("button", { name: "Rejected", exact: true }).waitFor();
		away.close();
		await isClean(page);
		await page.getByRole("link", { name: "Home" }).click();
		await page.getByText("1 of 2 connected").waitFor();
		await gateway.close();
		for (const view of ["List", "Table"]) {
			await page.getByRole("button", { name: view }).click();
			await gatewayAway(page).waitFor();
			await isClean(page);
		}
		await page.getByRole("link", { name: "Firmware" }).click();
		await page.getByRole("heading", { name: "Upload" }).waitFor();
		await isClean(page);
	});

	test("results with failures, and a device that has not identified itself", async (t) => {
		const devices = [{}, { features: [] }];
		const { page } = await setUp(t, devices, "#/?view=table");
		await page.getByRole("button", { name: "Select all 2" }).click();
		await page.locator(".selection summary", { hasText: "More" }).click();
		await isClean(page);
		await page.getByRole("button", { name: "Restart" }).click();
		await page.getByRole("dialog").getByRole("button", { name: "Restart" }).click();
		await page.getByText("1 not supported, 1 done").waitFor();
		await page.getByRole("button", { name: "Flash light of dev-1-000001" }).click();
		await page.locator(".identify.problem").waitFor();
		await isClean(page);
	});

	test("a paused log and a login with a wrong token", async (t) => {
		const { page, fleet, url } = await setUp(t, [{}], "#/devices/dev-1-000000/log");
		const log = page.getByRole("region", { name: "Log" });
		await log.getByText("No messages since").waitFor();
		// The report is shown, so the page has subscribed to messages.
		await page.getByRole("slider", { name: "Volume" }).and(page.locator(":enabled")).waitFor();
		fleet[0]?.report({ "network.wifi_rssi": -63 });
		await log.getByText("1 line").waitFor();
		await log.getByRole("button", { name: "Pause" }).click();
		fleet[0]?.report({ "network.wifi_rssi": -64 });
		await log.getByText("Paused, 1 line since").waitFor();
		await isClean(page);
		await page.context().clearCookies();
		await page.goto(`${url}/login`);
		await page.getByLabel("Access token").fill("wrong");
		await page.getByRole("button", { name: "Log in" }).click();
		await page.getByText("Invalid access token.").waitFor();
		await isClean(page);
	});
});
