/** Two people look after speakers that crash, fail and are rejected: issues, diagnostics and the live log. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { uplinkExamples } from "../../scripts/api/examples.js";
import { call } from "../support/call.js";
import { skip } from "../support/chromium.js";
import { noRateLimits, runGateway } from "../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../support/scripted-device.js";
import { checkView } from "./axe.js";
import { browsing, disclose, sees } from "./browsing.js";

const open = browsing();
const { crash } = uplinkExamples.crash_report;
const crashTitle = "TypeError in onButton";
const oven = "proto-1-00000a";
const fault = "The codec does not answer.";
const injection = "<img src=x onerror=injected=1>";

function row(page: Page, title: string): Locator {
	return page.getByRole("listitem").filter({ has: page.getByRole("button", { name: title, exact: true }) });
}

/** Number of issues in the navigation; empty: none. */
function counts(page: Page, number: string): Promise<void> {
	const name = `Issues ${number}`.trim();
	return page.getByRole("navigation", { name: "Views" }).getByRole("link", { name, exact: true }).waitFor();
}

test("issues", { skip }, async (t) => {
	let now = Date.now() - 3_600_000;
	const { url, monitor } = await runGateway(t, { ...noRateLimits, now: () => now });
	const watcher = await monitor();
	const connect = async (deviceId: string, options: Partial<ScriptedDeviceOptions> = {}) => {
		const device = await ScriptedDevice.join(t, { url, deviceId, ...options });
		await watcher.until(({ type, deviceId: id }) => type === "device_message" && id === deviceId);
		return device;
	};
	const crashOnce = (deviceId: string, id: string) =>
		connect(deviceId, { version: crash.firmware_version, crash: { ...crash, id } });
	const beRejected = async () => {
		const device = new ScriptedDevice({ url, deviceId: "dev-1-00000e", token: "not-the-token-of-devices" });
		await assert.rejects(device.connect());
	};
	let device = await connect(oven, { model: "PROTO-1", report: { "health.uptime_seconds": 9000 } });
	await call(url, "PATCH", `devices/${oven}`, { name: "Oven", room: "Kitchen" });
	device.close();
	now = Date.now();
	device = await connect(oven, {
		model: "PROTO-1",
		logLines: "Wi-Fi connected\ngateway connected\n",
		report: {
			"health.uptime_seconds": 5,
			"health.reset_reason": "PANIC_RESET",
			"network.wifi_ssid": injection,
			"peripherals.audio.fault": fault,
		},
	});
	const other = await connect("dev-1-00000b", { report: { "peripherals.audio.fault": fault } });
	await connect("dev-1-00000c", { report: { "network.wifi_rssi": -90 } });
	for (const id of ["c1", "c2"]) await crashOnce(`dev-1-0000${id}`, id);
	await beRejected();
	const page = await open(t, url, { view: "#/issues" });
	// The clock of this browser is two days ahead of the gateway's.
	const ahead = await open(t, url, {
		view: "#/issues",
		prepare: (context) => context.clock.install({ time: Date.now() + 48 * 3_600_000 }),
	});
	const both = [page, ahead];
	const dialog = page.getByRole("dialog");
	const details = async (title: string) => {
		await page.getByRole("button", { name: title, exact: true }).press("Enter");
		await dialog.waitFor();
	};

	await t.test("are shown like every view: with the title at one place, and without moving", async () => {
		const titles = new Set<string>();
		const views = ["", "devices/dev-1-0000c1", "devices/dev-1-0000c1/diagnostics", "rooms/Kitchen"];
		for (const view of [...views, "announce", "schedules", "issues", "firmware", "add", "settings"]) {
			await page.goto(`${url}/#/${view}`);
			await page.reload();
			await page.getByRole("heading", { level: 1, name: /^(?!Loading)/ }).waitFor();
			await page.waitForLoadState("networkidle");
			const [title, shift]: readonly [string, number] = await page.evaluate(`new Promise((done) => {
				let shift = 0;
				new PerformanceObserver((list) => { for (const { value } of list.getEntries()) shift += value; })
					.observe({ type: "layout-shift", buffered: true });
				const { x, y } = document.querySelector("h1").getBoundingClientRect();
				requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done([x + " " + y, shift]))));
			})`);
			titles.add(title);
			assert.ok(shift <= 0.02, `${view} moved by ${shift}`);
		}
		assert.deepEqual([...titles].length, 1, [...titles].join(", "));
		await page.goto(`${url}/#/issues`);
	});

	await t.test("are one row for each cause, with the devices, counted in the navigation", async () => {
		for (const shown of both) await counts(shown, "3");
		await sees(row(page, crashTitle), /2 devices/);
		await row(page, "Speaker fault").getByText("2 devices · Kitchen").waitFor();
		await page.getByRole("list", { name: "Hints" }).getByText("dev-1-00000c").waitFor();
		await checkView(page);
		await details(crashTitle);
		await dialog.getByText("at onButton (device/rules.ts:31)").waitFor();
		await dialog.getByRole("link", { name: "dev-1-0000c1" }).waitFor();
		await checkView(page);
		await page.keyboard.press("Escape");
		await dialog.waitFor({ state: "detached" });
		await page.getByRole("button", { name: crashTitle, exact: true }).and(page.locator(":focus")).waitFor();
	});

	await t.test("are dismissed for everyone until they happen again", async () => {
		await row(page, crashTitle)
			.getByRole("button", { name: /^Dismiss/ })
			.click();
		await details("Rejected");
		await dialog.getByText("Missing or invalid token.").waitFor();
		await dialog.getByRole("button", { name: /^Dismiss/ }).click();
		for (const shown of both) await counts(shown, "1");
		await disclose(ahead, "dismissed");
		await row(ahead, crashTitle).waitFor();
		now += 60_000;
		await crashOnce("dev-1-0000c1", "c3");
		await beRejected();
		for (const shown of both) await counts(shown, "3");
	});

	await t.test("end with the fault, or once the rejected device has connected", async () => {
		await connect("dev-1-00000e");
		other.report({ "peripherals.audio.fault": undefined });
		await sees(row(page, "Speaker fault"), /^Oven · Kitchen|^Oven/);
		for (const shown of both) await counts(shown, "2");
	});

	await t.test("lead to the device, which names the faulty part and what to do", async () => {
		await details("Speaker fault");
		await dialog.getByRole("link", { name: "Oven" }).click();
		await page.getByRole("heading", { level: 1, name: "Oven" }).waitFor();
		const overview = page.getByRole("region", { name: "Overview" });
		await overview.getByText("Speaker fault.").waitFor();
		await disclose(overview, "Details");
		await overview.getByText(fault).waitFor();
		await overview.getByText("npm run bring-up -- proto-1 codec sound", { exact: true }).waitFor();
		await checkView(page);
	});

	await t.test("are diagnosed by history, plots and details, which show data as text", async () => {
		await page.getByRole("link", { name: "Diagnostics" }).first().click();
		const history = page.getByRole("region", { name: "History" });
		await history.getByText("Restart: crashed").waitFor();
		const plots = page.getByRole("region", { name: "Last 24 hours" });
		const signal = plots.getByRole("figure").filter({ hasText: "Signal" });
		await signal.getByText("−50 dBm").waitFor();
		device.report({ "network.wifi_rssi": -71, "health.uptime_seconds": 9 });
		await signal.getByText("−71 dBm").waitFor();
		await plots.getByLabel("Time").focus();
		await page.keyboard.press("Home");
		await signal.getByText("−50 dBm").waitFor();
		await page.getByText(injection).first().waitFor();
		assert.equal(await page.evaluate("typeof injected"), "undefined");
		await checkView(page);
	});

	await t.test("are followed in the live log: filtered, paused, copied and stopped", async () => {
		const log = page.getByRole("region", { name: "Log" });
		await log.getByLabel("Show").selectOption("Live log");
		await log.getByRole("button", { name: "Start live log" }).click();
		await log.getByText("2 lines").waitFor();
		await device.receives({ command: "set_log", level: "info", seconds: 300 });
		device.log(`volume 12 ${injection}\n`, 1, 3);
		await log.getByText("(3 lines did not fit)").waitFor();
		await log.getByRole("button", { name: "Pause" }).click();
		device.log("volume 13\n", 2);
		await log.getByText("Paused, 1 line since").waitFor();
		assert.equal(await log.getByText("volume 13").count(), 0);
		await log.getByRole("button", { name: "Pause" }).click();
		await log.getByText("volume 13").waitFor();
		await log.getByRole("searchbox").fill("wi-fi");
		await log.getByText("1 line", { exact: true }).waitFor();
		await log.getByRole("searchbox").fill("");
		await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
		await log.getByRole("button", { name: "Copy all" }).click();
		await page.getByText("Copied").waitFor();
		assert.match(await page.evaluate("navigator.clipboard.readText()"), /volume 12 <img src=x/);
		await log.getByRole("button", { name: "Stop live log" }).click();
		await device.receives({ command: "set_log", level: "off", seconds: 300 });
	});

	await t.test("are told by a crashed device on its page, until dismissed", async () => {
		await page.goto(`${url}/#/devices/dev-1-0000c1`);
		const overview = page.getByRole("region", { name: "Overview" });
		await overview.getByText(/^Uncaught exception, /).waitFor();
		await overview.getByRole("link", { name: "Diagnostics" }).click();
		await disclose(page.getByRole("region", { name: "History" }), "Stack and last lines");
		await page.getByText("at onButton (device/rules.ts:31)").first().waitFor();
		await checkView(page);
		await overview.getByRole("button", { name: "Dismiss" }).click();
		await overview.getByText(/^Uncaught exception, /).waitFor({ state: "detached" });
	});
});
