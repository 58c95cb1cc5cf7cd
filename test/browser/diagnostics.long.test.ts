import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Crash } from "../../device/protocol/messages.js";
import { uplinkExamples } from "../../scripts/api/examples.js";
import { skip } from "../support/chromium.js";
import { runGateway } from "../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../support/scripted-device.js";
import { browsing } from "./browsing.js";

const open = browsing();
const deviceId = "dev-1-a1b2c3";

const sampleCrash: Crash = {
	...uplinkExamples.crash_report.crash,
	firmware_version: "1.2.3",
	uptime_seconds: 3700,
};

async function setUp(
	t: TestContext,
	options: Partial<ScriptedDeviceOptions> = {},
	view = `#/devices/${deviceId}/history`,
) {
	const { url } = await runGateway(t);
	const device = await new ScriptedDevice({ url, deviceId, ...options }).connect();
	t.after(() => device.close());
	const page = await open(t, url, { view });
	return { url, device, page };
}

describe("crashes on the page", { skip }, () => {
	test("show kind, location, version and last log lines as soon as they are reported", async (t) => {
		const { device, page } = await setUp(t);
		const panel = page.getByRole("region", { name: "History" });
		await panel.getByText("First start of 1.2.3").waitFor();
		assert.doesNotMatch(await panel.innerText(), /Crash/);
		device.close();
		const back = await new ScriptedDevice({
			url: new URL(page.url()).origin,
			deviceId,
			crash: sampleCrash,
		}).connect();
		t.after(() => back.close());
		await panel.getByText("Crash: uncaught exception").waitFor();
		await panel.getByText("TypeError: undefined: cannot read property play").waitFor();
		await panel.getByText("device/rules.ts:31", { exact: true }).waitFor();
		assert.match(await panel.innerText(), /on 1\.2\.3, after 1 h 1 min/);
		await panel.getByText("Stack and last lines").click();
		await panel.getByText("gateway connected").waitFor();
		assert.equal(await panel.getByText("Crash:").count(), 1);
	});

	test("are counted in the list, and can be filtered by", async (t) => {
		const { url, page } = await setUp(t, { crash: sampleCrash }, "");
		const other = await new ScriptedDevice({ url, deviceId: "dev-1-000000" }).connect();
		t.after(() => other.close());
		await page.getByText("1 crash on 1.2.3").waitFor();
		await page.getByRole("link", { name: "dev-1-000000" }).waitFor();
		await page.getByRole("button", { name: "Crashed: 1" }).click();
		await page.getByText("1 of 2 devices").waitFor();
		assert.equal(await page.locator(".device-row").count(), 1);
	});
});

describe("the live log on the page", { skip }, () => {
	const log = `#/devices/${deviceId}/log`;

	test("starts with stored lines, continues, and can be paused, filtered and stopped", async (t) => {
		const { device, page } = await setUp(t, { logLines: "Wi-Fi connected\ngateway connected\n" }, log);
		const panel = page.getByRole("region", { name: "Log" });
		await panel.getByText("No messages since").waitFor();
		await panel.getByLabel("Show").selectOption("Live log");
		await panel.getByRole("button", { name: "Start live log" }).click();
		await panel.getByText("2 lines").waitFor();
		await device.receives({ command: "set_log", level: "info", seconds: 300 });
		device.log("volume 12\n", 1, 3);
		await panel.getByText("volume 12").waitFor();
		await panel.getByText("(3 lines did not fit)").waitFor();
		const newest = await panel.locator(".trace-text").first().innerText();
		assert.equal(newest, "volume 12");
		await panel.getByRole("button", { name: "Pause" }).click();
		device.log("volume 13\n", 2);
		await panel.getByText("Paused, 1 line since").waitFor();
		assert.equal(await panel.getByText("volume 13").count(), 0);
		await panel.getByRole("button", { name: "Pause" }).click();
		await panel.getByText("volume 13").waitFor();
		await panel.getByRole("searchbox").fill("wi-fi");
		await panel.getByText("1 line", { exact: true }).waitFor();
		await panel.getByRole("searchbox").fill("");
		await panel.getByRole("button", { name: "Stop live log" }).click();
		await panel.getByRole("button", { name: "Start live log" }).waitFor();
		await device.receives({ command: "set_log", level: "off", seconds: 300 });
	});

	test("does not repeat lines after a restart, and merges with messages", async (t) => {
		const { device, page } = await setUp(t, { logLines: "one\ntwo\n" }, log);
		const panel = page.getByRole("region", { name: "Log" });
		await panel.getByRole("button", { name: "Start live log" }).click();
		await panel.getByText("2 lines").waitFor();
		device.log("one\ntwo\nthree\n", 0);
		await panel.getByText("3 lines").waitFor();
		device.report({ "network.wifi_rssi": -63 });
		await panel.getByText("4 lines").waitFor();
		await panel.getByLabel("Show").selectOption("Report");
		await panel.getByText("1 line", { exact: true }).waitFor();
	});
});
