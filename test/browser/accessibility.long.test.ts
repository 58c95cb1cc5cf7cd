import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { uplinkExamples } from "../../scripts/api/examples.js";
import { makeVirtualImages } from "../../scripts/release/images.js";
import { skip } from "../support/chromium.js";
import { runFleet } from "../support/fleet.js";
import { putRollout, quickPlan, runReleasedFleet } from "../support/released-fleet.js";
import { writeReleases } from "../support/releases.js";
import { bearer, monitorToken, runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { violations, widerThan } from "./axe.js";
import { browsing, gatewayAway } from "./browsing.js";
import { withoutSerialPort, withSerialPort } from "./serial/serial-port.js";
import { UsbBoard } from "./serial/usb-board.js";

const open = browsing();

/** Starts a gateway whose devices cover every state that views distinguish. */
async function everyState(t: TestContext): Promise<string> {
	const dataDir = await temporaryDirectory(t);
	const releasesDir = join(dataDir, "releases");
	await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
	const { url, monitor } = await runGateway(t, { dataDir, releasesDir });
	const watcher = await monitor();
	const connect = async (options: Partial<ConstructorParameters<typeof ScriptedDevice>[0]>) => {
		const device = await new ScriptedDevice({ url, deviceId: "", ...options }).connect();
		t.after(() => device.close());
		return device;
	};
	await connect({ deviceId: "proto-1-5c02fe", model: "PROTO-1", executesCommands: false });
	await connect({ deviceId: "dev-1-unsafe", report: { "health.safe_mode": true } });
	await connect({
		deviceId: "dev-1-crashd",
		crash: uplinkExamples.crash_report.crash,
		logLines: "one\ntwo\n",
	});
	await connect({ deviceId: "dev-1-waits0", ending: "waits" });
	await connect({ deviceId: "dev-1-failed", ending: "fails" });
	await connect({ deviceId: "dev-1-backed", ending: "rolls back" });
	(await connect({ deviceId: "dev-1-gone00" })).close();
	const devices = ["dev-1-roll00", "dev-1-roll01", "dev-1-gone00"];
	for (const deviceId of devices.slice(0, 2)) await connect({ deviceId, ending: "rolls back" });
	const groups = [
		{ size: 1, soakSeconds: 0 },
		{ size: "rest", soakSeconds: 0 },
	];
	await putRollout(url, "stopped", quickPlan({ target: { devices }, groups }));
	await putRollout(url, "over", quickPlan({ target: { devices: ["dev-1-crashd"] } }));
	await change(url, "POST", "schedules", {
		at: { once: "2037-11-28T07:30" },
		do: { command: { targets: { all: true }, payload: { command: "stop_sound" } } },
	});
	await change(url, "PUT", "quiet-hours", {
		targets: { all: true },
		from: "22:00",
		until: "07:00",
		volume: 20,
	});
	for (const targetId of ["dev-1-waits0", "dev-1-failed", "dev-1-backed"])
		await watcher.request({ type: "trigger_ota", targetId, version: "latest" });
	return url;
}

async function change(url: string, method: string, path: string, body: object): Promise<void> {
	const headers = { ...bearer(monitorToken), "Content-Type": "application/json" };
	const response = await fetch(`${url}/api/${path}`, { method, headers, body: JSON.stringify(body) });
	assert.ok(response.ok, await response.text());
}

/** Views in the order in which one page shows them; the text `ready` must not occur in the view before. */
const views = [
	["the fleet", "", ".device-row .problem"],
	["the fleet as a table", "#/?view=table", ".table-body .problem"],
	["the devices without a room", "#/rooms/", ".tile.room"],
	["what needs attention", "#/attention", ".issue"],
	["the fleet, of which nothing is found", "#/?search=nowhere", "text=No devices match."],
	["a device", "#/devices/proto-1-5c02fe", ".light-card"],
	["the history of a device", "#/devices/proto-1-5c02fe/history", ".plot svg"],
	["the settings of a device", "#/devices/proto-1-5c02fe/settings", ".settings form"],
	["the log of a device", "#/devices/proto-1-5c02fe/log", ".log .toolbar"],
	["the firmware of a device", "#/devices/dev-1-backed/firmware", ".history li"],
	["a device that crashed", "#/devices/dev-1-crashd", ".device-notice"],
	["the history of a device that crashed", "#/devices/dev-1-crashd/history", ".past-panel li"],
	["a device that is away", "#/device/dev-1-gone00", ".as-of"],
	["an unknown device", "#/device/unknown", ".empty h1"],
	["a device in safe mode", "#/device/dev-1-unsafe", ".safe-mode"],
	["firmware", "#/firmware", ".rollouts .segment-bar"],
	["a rollout paused by failures", "#/firmware/stopped", ".rollout-state.bad ~ .device-list li"],
	["announcing", "#/announce", ".announce .primary"],
	["times", "#/times", ".times li >> nth=1"],
	["settings of all devices", "#/settings/devices", ".fleet-settings .field"],
	["the Wi-Fi of all devices", "#/settings/wifi", ".wifi summary"],
	["people", "#/settings/people", ".listed li"],
	["adding a device", "#/add", ".install form"],
] as const;

describe("axe reports no violations for", { skip }, () => {
	test("each view", async (t) => {
		const url = await everyState(t);
		const page = await open(t, url);
		for (const [name, view, ready] of views)
			await t.test(name, async () => {
				await page.goto(`${url}/${view}`);
				await page.locator(ready).first().waitFor();
				assert.deepEqual(await violations(page), []);
			});
	});

	test("a rejected and a pending control", async (t) => {
		const url = await everyState(t);
		const page = await open(t, url, { view: "#/device/proto-1-5c02fe" });
		await page.locator(".light-card").waitFor();
		// Real time is needed: Playwright's clock would delay axe's timers.
		await page.getByRole("slider").first().fill("80");
		await page.getByText("The device did not confirm the command in time.").waitFor();
		await page.getByRole("slider").nth(1).fill("80");
		await page.getByText("sending").waitFor();
		assert.deepEqual(await violations(page), []);
	});

	test("a new rollout in its three steps", async (t) => {
		const { url } = await runReleasedFleet(t, [{}, {}]);
		const page = await open(t, url, { view: "#/firmware?new" });
		await page.getByRole("radio", { name: "1.4.0 latest" }).waitFor();
		assert.deepEqual(await violations(page), []);
		await page.getByRole("button", { name: "Next" }).click();
		await page.getByLabel("Include new devices").waitFor();
		assert.deepEqual(await violations(page), []);
		await page.getByRole("button", { name: "Next" }).click();
		await page.getByRole("radio", { name: "Custom" }).check();
		await page.getByRole("button", { name: "Update 2 devices" }).waitFor();
		assert.deepEqual(await violations(page), []);
	});

	test("an installation, from invalid input to waiting for the board", async (t) => {
		const { url, release } = await runFleet(t);
		await release("1.1.0", ...(await makeVirtualImages("1.1.0", 0)));
		const board = new UsbBoard({ serial: "c0ffee", hasNoResetLines: true });
		let chosen: UsbBoard | undefined;
		const prepare = withSerialPort(() => chosen);
		const page = await open(t, url, { view: "#/add?virtual", prepare });
		await page.getByLabel("Gateway address").fill("wss://192.168.1.10/device");
		await page.getByRole("button", { name: "Install" }).click();
		await page.getByText("wss requires the CA certificate").waitFor();
		assert.deepEqual(await violations(page), []);
		await page.getByLabel("Gateway address").fill("ws://127.0.0.1:1/device");
		await page.getByLabel("Wi-Fi name", { exact: true }).fill("home");
		await page.getByText("A board cannot reach this address").waitFor();
		assert.deepEqual(await violations(page), []);
		await page.getByRole("button", { name: "Install" }).click();
		await page.getByText("No port selected.").waitFor();
		assert.deepEqual(await violations(page), []);
		await page.getByLabel("Set up the installed firmware").check();
		await page.getByRole("button", { name: "Find networks" }).waitFor();
		assert.deepEqual(await violations(page), []);
		await page.getByLabel("New settings").check();
		chosen = board;
		await board.pressBootAndReset();
		await page.getByRole("button", { name: "Install" }).click();
		await page.getByText("Ring stays dark:").waitFor();
		assert.deepEqual(await violations(page), []);
	});

	test("adding a device without Web Serial", async (t) => {
		const { url } = await runGateway(t);
		const prepare = withoutSerialPort(true);
		const page = await open(t, url, { view: "#/add", prepare });
		await page.getByText("This browser does not support Web Serial").waitFor();
		assert.deepEqual(await violations(page), []);
	});

	for (const view of ["list", "table"])
		test(`a selection and its answers, as ${view}`, async (t) => {
			const page = await open(t, await everyState(t), { view: `#/?view=${view}` });
			await page.getByRole("button", { name: /^Select all/ }).click();
			const more = page.locator(".selection summary", { hasText: "More" });
			await more.click();
			await page.getByRole("button", { name: "Flash light", exact: true }).click();
			await page.getByText(/^Sent to \d+/).waitFor();
			assert.deepEqual(await violations(page), []);
			await more.click();
			await page
				.getByRole("button", { name: /^Forget/ })
				.first()
				.click();
			await page.getByRole("dialog").waitFor();
			assert.deepEqual(await violations(page), []);
		});

	test("a running log and an open crash", async (t) => {
		const page = await open(t, await everyState(t), { view: "#/devices/dev-1-crashd/history" });
		await page.getByText("Stack and last lines").click();
		await page.locator(".past-panel pre").waitFor();
		assert.deepEqual(await violations(page), []);
		await page.getByRole("button", { name: "Start live log" }).click();
		await page.getByText("2 lines").waitFor();
		assert.deepEqual(await violations(page), []);
	});

	test("label editing, and a device while the gateway is unreachable", async (t) => {
		const { url, gateway } = await runGateway(t);
		const device = await new ScriptedDevice({
			url,
			deviceId: "proto-1-5c02fe",
			model: "PROTO-1",
		}).connect();
		t.after(() => device.close());
		const page = await open(t, url, { view: "#/device/proto-1-5c02fe/diagnostics" });
		await page.getByText("Technical details").click();
		await page.locator(".hero").locator("summary", { hasText: "More" }).click();
		assert.deepEqual(await violations(page), []);
		await page.keyboard.press("Escape");
		await page.getByRole("button", { name: "Edit name, room, note and tags" }).click();
		await page.locator(".save-form").waitFor();
		assert.deepEqual(await violations(page), []);
		await page.keyboard.press("Escape");
		device.report({ "network.wifi_rssi": -63 });
		await page.locator(".log summary").first().click();
		await page.locator(".log pre").waitFor();
		assert.deepEqual(await violations(page), []);
		await gateway.close();
		await page.locator(".as-of").waitFor();
		assert.deepEqual(await violations(page), []);
	});

	test("an empty fleet, an outage and the login", async (t) => {
		const { url, gateway } = await runGateway(t);
		const page = await open(t, url, { expected: /401/ });
		await page.getByText("No devices yet").waitFor();
		assert.deepEqual(await violations(page), []);
		await page.setViewportSize({ width: 320, height: 740 });
		assert.deepEqual(await widerThan(page, 320), []);
		await page.context().clearCookies();
		await page.goto(`${url}/login?code=used`);
		assert.deepEqual(await violations(page), []);
		await page.getByRole("button", { name: "Log in" }).click();
		await page.getByText("This link has expired. Ask for a new one.").waitFor();
		assert.deepEqual(await violations(page), []);
		const second = await open(t, url);
		await second.getByText("No devices yet").waitFor();
		await gateway.close();
		await gatewayAway(second).waitFor();
		assert.deepEqual(await violations(second), []);
	});
});

test("has no axe violations at 320 pixels, and no overflow up to 1920", {
	skip,
}, async (t) => {
	const url = await everyState(t);
	const height = 740;
	const page = await open(t, url, { viewport: { width: 320, height }, hasTouch: true });
	for (const [name, view, ready] of views)
		await t.test(name, async () => {
			await page.setViewportSize({ width: 320, height });
			await page.goto(`${url}/${view}`);
			await page.locator(ready).first().waitFor();
			assert.deepEqual(await violations(page), []);
			// There is no breakpoint above 1200.
			for (const width of [...Array.from({ length: 25 }, (_, step) => 320 + 40 * step), 1600, 1920]) {
				await page.setViewportSize({ width, height });
				assert.deepEqual(await widerThan(page, width), [], `at ${width}`);
			}
		});
});

test("reaches everything by keyboard in order, and a new view from its top", { skip }, async (t) => {
	const page = await open(t, await everyState(t));
	await page.locator(".device-row").first().waitFor();
	await page.getByRole("link", { name: "Schedules" }).waitFor();
	const focused = (): Promise<string> =>
		page.evaluate(
			"document.activeElement.getAttribute('aria-label') || document.activeElement.textContent || document.activeElement.type",
		);
	const order: string[] = [];
	for (let press = 0; press < 17 && order.at(-1) !== "search"; press++) {
		await page.keyboard.press("Tab");
		order.push((await focused()).replace(/:? \d+$/, "").trim());
	}
	const frame = ["Skip to content", "Device gateway", "SearchCtrl K"];
	const views = ["Home", "Announce", "Schedules", "Issues", "Firmware", "Add device", "Settings", "Log out"];
	assert.deepEqual(order, [...frame, ...views, "search"]);
	const rest: string[] = [];
	for (let press = 0; press < 12 && !rest.at(-1)?.startsWith("Select all"); press++) {
		await page.keyboard.press("Tab");
		rest.push((await focused()).replace(/:? \d+$/, "").trim());
	}
	const states = ["Away", "Crashed", "Rolled back", "Update failed", "Safe mode"];
	assert.deepEqual(rest, ["Filter", "List", "Table", ...states, "Select all"]);
	await page.getByRole("link", { name: "proto-1-5c02fe" }).focus();
	await page.keyboard.press("Enter");
	await page.getByRole("heading", { name: "proto-1-5c02fe" }).waitFor();
	await page.locator("main:focus").waitFor();
	assert.match(await page.title(), /^proto-1-5c02fe/);
});
