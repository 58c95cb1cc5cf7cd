import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import type { GatewayOptions } from "../../gateway/gateway.js";
import { skip } from "../support/chromium.js";
import { deviceToken, monitorToken, runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../support/scripted-device.js";
import { widerThan } from "./axe.js";
import { browsing, type OpenOptions } from "./browsing.js";
import { withoutSerialPort } from "./serial/serial-port.js";

const open = browsing();
const deviceId = "proto-1-5c02fe";
const view = `#/devices/${deviceId}`;

async function setUp(
	t: TestContext,
	{
		device: options,
		page: pageOptions,
		gateway,
	}: { device?: Partial<ScriptedDeviceOptions>; page?: OpenOptions; gateway?: GatewayOptions } = {},
) {
	const running = await runGateway(t, gateway);
	const { url } = running;
	const device = await new ScriptedDevice({ url, deviceId, model: "PROTO-1", ...options }).connect();
	t.after(() => device.close());
	const page = await open(t, url, { view, ...pageOptions });
	await page.locator(".tab > .panel").first().waitFor();
	return { ...running, device, page };
}

/** Steps of a plotted line. */
async function drawn(page: Page): Promise<string> {
	return (await page.locator(".plot-line").first().getAttribute("d")) ?? "";
}

/** Bounding box of the first element. */
function styleOf(page: Page, selector: string, property: string): Promise<string> {
	return page.evaluate(`getComputedStyle(document.querySelector("${selector}")).${property}`);
}

function region(page: Page, name: string): Locator {
	return page.getByRole("region", { name });
}

describe("the label of a device", { skip }, () => {
	test("is edited in place, and its name becomes the title", async (t) => {
		const { page, url } = await setUp(t);
		await page.getByRole("heading", { level: 1, name: deviceId }).waitFor();
		await page.getByRole("button", { name: "Edit name, room, note and tags" }).click();
		const name = page.getByLabel("Name", { exact: true });
		await page.locator("input[name=name]:focus").waitFor();
		await name.fill("  Lobby speaker ");
		await page.getByLabel("Room", { exact: true }).fill("Lobby");
		await page.getByLabel("Note", { exact: true }).fill("Mains behind the plant.");
		await page.getByRole("button", { name: "Save" }).click();
		await page.getByRole("heading", { level: 1, name: "Lobby speaker" }).waitFor();
		await page.waitForFunction("document.title.startsWith('Lobby speaker')");
		await page.getByRole("button", { name: "Save" }).waitFor({ state: "detached" });
		const overview = region(page, "Overview");
		for (const text of ["Lobby", "Mains behind the plant."])
			await overview.getByText(text, { exact: true }).waitFor();
		await page.getByRole("link", { name: "Diagnostics" }).click();
		await region(page, "Details").getByText(deviceId, { exact: true }).waitFor();

		const other = await open(t, url, { view });
		await other.getByRole("heading", { level: 1, name: "Lobby speaker" }).waitFor();
		await other.getByRole("button", { name: "Edit name, room, note and tags" }).click();
		await other.getByLabel("Name", { exact: true }).fill("");
		await other.keyboard.press("Enter");
		await page.getByRole("heading", { level: 1, name: deviceId }).waitFor();
	});

	test("shows why it was rejected, and keeps the input", async (t) => {
		const { page } = await setUp(t, { page: { view, expected: /422/ } });
		await page.getByRole("button", { name: "Edit name, room, note and tags" }).click();
		const room = page.getByLabel("Room", { exact: true });
		await room.evaluate((element) => element.removeAttribute("maxlength"));
		await room.fill("x".repeat(65));
		await page.getByRole("button", { name: "Save" }).click();
		await page.locator(".sheet .problem:not(:empty)").waitFor();
		assert.match(await page.locator(".sheet .problem:not(:empty)").innerText(), /room.*64/);
		assert.equal((await room.inputValue()).length, 65);
		await page.keyboard.press("Escape");
		await page.locator(".save-form").waitFor({ state: "detached" });
		await page.locator("button:focus[aria-label^=Edit]").waitFor();
	});
});

describe("history of a device", { skip }, () => {
	test("is plotted at once with gaps and marks, readable by keyboard and pointer", async (t) => {
		/** Offset of the gateway's clocks. */
		let behindMs = 3_600_000;
		const { url, monitor } = await runGateway(t, {
			now: () => Date.now() - behindMs,
			monotonic: () => performance.now() + 3_600_000 - behindMs,
		});
		const watcher = await monitor();
		const hear = async (fields: Parameters<ScriptedDevice["set"]>[0]) => {
			const device = new ScriptedDevice({ url, deviceId, model: "PROTO-1" });
			device.set(fields);
			await device.connect();
			await watcher.until(({ type }) => type === "device_message");
			device.close();
			await watcher.change("disconnected");
		};
		await hear({ "network.wifi_rssi": -61, "health.uptime_seconds": 9000 });
		behindMs -= 300_000;
		await hear({ "network.wifi_rssi": -71, "health.uptime_seconds": 9300 });
		behindMs -= 1_200_000;
		await hear({
			"network.wifi_rssi": -50,
			"health.uptime_seconds": 5,
			"health.reset_reason": "PANIC_RESET",
		});
		behindMs = 0;
		const page = await open(t, url, { view: `${view}/history` });
		const panel = region(page, "Last 24 hours");
		await region(page, "History").getByText("Restart: crashed").waitFor();
		assert.equal((await drawn(page)).match(/M/g)?.length, 2, "a run, a gap, a dot");
		assert.equal(
			await panel.locator(".plot-row .plot-mark.restart").count(),
			3,
			"on each of the three plots",
		);
		await panel.getByText(/% of the time since \d\d:\d\d$/).waitFor();
		await panel.getByText(/^No reports since/).waitFor();

		const signal = panel.locator("figcaption", { hasText: "Signal" });
		await panel.getByLabel("Time").focus();
		await page.keyboard.press("Home");
		await signal.getByText("−61 dBm").waitFor();
		for (let press = 0; press < 5; press++) await page.keyboard.press("ArrowRight");
		await signal.getByText("−71 dBm").waitFor();
		await page.getByRole("heading", { level: 1 }).click();
		await signal.getByText("−50 dBm").waitFor();
		await panel.locator(".plot svg").first().scrollIntoViewIfNeeded();
		const box = await panel.locator(".plot svg").first().boundingBox();
		assert.ok(box, "the plot is not visible");
		await page.mouse.move(box.x + 1, box.y + 20);
		await signal.getByText("−61 dBm").waitFor();
		await page.mouse.move(box.x + box.width / 3, box.y + 20);
		await signal.getByText("–", { exact: true }).waitFor();
	});

	test("continues with new reports, and marks a restart", async (t) => {
		const { device, page } = await setUp(t, { page: { view: `${view}/history` } });
		const plot = page.locator(".plot").first();
		await plot.locator(".plot-line[d^=M]").waitFor({ state: "attached" });
		const before = await drawn(page);
		device.report({ "network.wifi_rssi": -80 });
		await plot.locator(`.plot-line:not([d="${before}"])`).waitFor({ state: "attached" });
		device.close();
		device.set({ "health.uptime_seconds": 1, "health.reset_reason": "TASK_WDT_RESET" });
		await device.connect();
		await region(page, "History").getByText("Restart: hung (watchdog)").waitFor();
		await plot.locator(".plot-mark.restart").first().waitFor({ state: "attached" });
	});

	test("lists events in order, at most eight at once", async (t) => {
		const { device, page } = await setUp(t, { page: { view: `${view}/history` } });
		const past = page.getByRole("list", { name: "History, the latest first" });
		for (let start = 1; start < 8; start++) {
			device.close();
			device.set({ "health.uptime_seconds": 0, "health.reset_reason": `KIND_${start}_RESET` });
			await device.connect();
			await past.first().getByText(`Restart: kind ${start} reset`).waitFor();
			device.report({ "health.uptime_seconds": 60 });
		}
		assert.equal(await past.first().locator("li").count(), 8);
		await region(page, "History").getByText("1 more").click();
		const texts = await past.locator("li > span").allTextContents();
		assert.deepEqual(texts.slice(0, 2), ["Restart: kind 7 reset", "Restart: kind 6 reset"]);
		assert.deepEqual(texts.slice(7).sort(), ["First start of 1.2.3", "Restart: power on"]);
	});
});

test("shows when a device was first seen and its versions, and identifies it", {
	skip,
}, async (t) => {
	const { device, page } = await setUp(t, { page: { view: `${view}/diagnostics` } });
	await region(page, "Details").getByText("First seen").waitFor();
	const versions = region(page, "History").getByText("First start of");
	await versions.waitFor();
	device.close();
	device.set({ "system.firmware_version": "1.3.0", "health.uptime_seconds": 1 });
	await device.connect();
	await versions.nth(1).waitFor();
	assert.deepEqual(await versions.allTextContents(), ["First start of 1.3.0", "First start of 1.2.3"]);
	await page.getByRole("button", { name: "Flash light" }).click();
	await region(page, "Overview").locator(".sending").waitFor();
	device.report({
		"peripherals.audio.player_state": "playing",
		"peripherals.audio.current_track": "file:///chimes/startup",
	});
	await region(page, "Overview").locator(".sending").waitFor({ state: "detached" });
	await device.receives({ command: "identify" });
});

test("names a faulty part with bring-up steps, and lists it as an issue until it works", {
	skip,
}, async (t) => {
	const { device, page } = await setUp(t, {
		device: {
			report: {
				"peripherals.audio.fault": "The codec does not answer.",
				"peripherals.ambient_light_fault": "The light sensor may not be connected.",
			},
		},
	});
	const overview = region(page, "Overview");
	await overview.getByText("Speaker fault, Light sensor fault.").waitFor();
	await overview.getByText("Disconnect the power for 10 seconds").waitFor();
	const sentence = overview.getByText("The codec does not answer. The light sensor may not be connected.");
	assert.equal(await sentence.isVisible(), false, "folded");
	await overview.getByText("Details", { exact: true }).click();
	await sentence.waitFor();
	await overview.getByText("npm run bring-up -- proto-1 codec sound light", { exact: true }).waitFor();
	await overview.getByRole("button", { name: "Copy command" }).waitFor();
	const link = page.getByRole("link", { name: "Issues" });
	await link.getByText("1").waitFor();
	await link.click();
	await page.getByRole("button", { name: "Speaker fault", exact: true }).click();
	const fault = page.getByRole("dialog", { name: "Speaker fault" });
	await fault.getByText("The codec does not answer.", { exact: true }).waitFor();
	await fault.getByRole("link", { name: deviceId }).click();
	await overview.getByText("Speaker fault").waitFor();

	device.set({ "peripherals.audio.fault": undefined, "peripherals.ambient_light_fault": undefined });
	device.report();
	await overview.locator(".device-notice").waitFor({ state: "detached" });
	await page.getByRole("link", { name: "Issues", exact: true }).waitFor();
});

describe("stale values", { skip }, () => {
	test("are dimmed and dated while the device is offline, with controls disabled", async (t) => {
		const { device, page } = await setUp(t, { page: { view: `${view}/diagnostics` } });
		const overview = region(page, "Overview");
		device.report({ "peripherals.buttons.btn_play": true });
		await page.locator(".keys .on").waitFor();
		device.close();
		await overview.getByText(/^Offline since/).waitFor();
		await page.getByRole("slider", { name: "Volume" }).and(page.locator(":disabled")).waitFor();
		assert.equal(await page.locator(".keys .on").count(), 0);
		await page.getByRole("img", { name: "LED ring: unknown" }).waitFor();
		const gray = await styleOf(page, ".control .value", "color");
		assert.equal(await styleOf(page, ".about dd", "color"), gray);
		await page.getByRole("link", { name: "Overview" }).click();
		await region(page, "Light").waitFor();
		assert.equal(await page.locator(".device input:enabled").count(), 0);
		assert.equal(await page.locator(".segments button:enabled").count(), 0);
		assert.equal(await styleOf(page, ".segments", "opacity"), "0.5");
		assert.equal(await styleOf(page, ".segments button", "opacity"), "1", "no fainter than the group");
		await page.getByRole("link", { name: "Diagnostics" }).click();
		await page.locator(".about dd").first().waitFor();
		await device.connect();
		await page.getByRole("slider", { name: "Volume" }).and(page.locator(":enabled")).waitFor();
		assert.notEqual(await styleOf(page, ".about dd", "color"), gray);
	});

	test("are marked while the gateway is unreachable: no device is shown as connected, and rings stop", async (t) => {
		const { gateway, page } = await setUp(t);
		await page.getByRole("img", { name: /^LED ring: rainbow/ }).waitFor();
		await gateway.close();
		await page.getByText("Gateway is restarting. Showing values from").waitFor();
		await page.getByRole("img", { name: "LED ring: unknown" }).waitFor();
		// The icon may be painted after the text.
		await page.waitForFunction(`(async () => {
			const picture = () => document.querySelector("canvas").toDataURL();
			const before = picture();
			for (let frame = 0; frame < 30; frame += 1) await new Promise(requestAnimationFrame);
			return picture() === before;
		})()`);
		assert.equal(
			await page
				.locator("main")
				.getByText("Connected", { exact: false })
				.filter({ hasText: /^Connected/ })
				.count(),
			0,
		);
		await page.getByRole("slider", { name: "Volume" }).and(page.locator(":disabled")).waitFor();
	});
});

test("lists a device's updates although 200 others are newer", { skip }, async (t) => {
	const dataDir = await temporaryDirectory(t);
	const jobs = (from: string, startedAt: number) =>
		Array.from({ length: 10 }, (_, index) => ({
			status: "updated",
			startedAt: startedAt + index,
			endedAt: startedAt + index,
			from,
			version: "1.4.0",
		}));
	await mkdir(join(dataDir, "updates"));
	const write = (id: string, content: object) =>
		writeFile(join(dataDir, "updates", `${id}.json`), JSON.stringify(content));
	await write(deviceId, { jobs: jobs("1.1.1", 1_700_000_000_000).slice(-2) });
	for (let index = 0; index < 20; index++)
		await write(`dev-1-00000${index}`, { jobs: jobs("1.2.2", 1_750_000_000_000) });
	const { page } = await setUp(t, { gateway: { dataDir }, page: { view: `${view}/firmware` } });
	const updates = page.getByRole("list", { name: "Previous updates" }).getByRole("listitem");
	await updates.nth(1).waitFor();
	for (const text of await updates.allTextContents()) assert.match(text, /1\.1\.1 → 1\.4\.0/);
	assert.equal(await updates.count(), 2);
});

test("keeps the layout stable when a button is pressed and while its command is sent", {
	skip,
}, async (t) => {
	const { device, page } = await setUp(t, { device: { executesCommands: false } });
	const places = (): Promise<readonly string[]> =>
		page.evaluate(`[...document.querySelectorAll(
			".device .control, .device .segments button, .device .actions button, .hero, .light-card",
		)].map((node) => { const { x, y, width, height } = node.getBoundingClientRect(); return [node.tagName, x, y + scrollY, width, height].join(" "); })`);
	// History and releases appear once loaded.
	await page.waitForLoadState("networkidle");
	const before = await places();
	await page.getByRole("button", { name: "Failed" }).click();
	await page.locator(".sending").first().waitFor();
	await page.getByRole("slider", { name: "Volume" }).fill("80");
	await page.locator(".sending").nth(1).waitFor();
	await page.locator(".hero").locator("summary", { hasText: "More" }).click();
	await page.getByRole("button", { name: "Refresh" }).click();
	await page.locator(".sending").nth(2).waitFor();
	assert.deepEqual(await places(), before);
	device.report({ "peripherals.buttons.btn_play": true, "peripherals.audio.volume": 80 });
	await page.locator(".sending").nth(2).waitFor({ state: "detached" });
	assert.deepEqual(await places(), before);
});

test("describes a message in words, and shows its JSON on demand", { skip }, async (t) => {
	const { device, page } = await setUp(t, { page: { view: `${view}/diagnostics` } });
	device.report({ "network.wifi_rssi": -63, "health.uptime_seconds": 3605 });
	const facts = region(page, "Details");
	for (const text of ["1 h 0 min", "Last start: power on", "fine", "good signal, −63 dBm"])
		await facts.getByText(text, { exact: true }).waitFor();
	await facts.getByText("186 KB free, lowest 146 KB").waitFor();
	assert.equal(await facts.getByText("POWERON_RESET").isVisible(), false);
	const log = region(page, "Log");
	await log.getByText("signal −50 dBm → −63 dBm").waitFor();
	assert.doesNotMatch(await page.locator("main").innerText(), /\{/);
	await log.locator("summary", { hasText: "signal" }).click();
	await log.getByText('"wifi_rssi": -63,').waitFor();
});

describe("device token", { skip }, () => {
	const permissions = ["clipboard-read", "clipboard-write"];
	const copied = (page: Page): Promise<string> => page.evaluate("navigator.clipboard.readText()");

	test("is copied with the command although it is not shown", async (t) => {
		const { url } = await runGateway(t);
		const page = await open(t, url, { permissions });
		await page.getByRole("button", { name: "Copy" }).first().click();
		await page.locator(".toasts").getByText("Copied").waitFor();
		assert.match(await copied(page), new RegExp(`^DEVICE_TOKEN=${deviceToken} npm run device`));
		assert.equal((await page.content()).includes(deviceToken), false);
	});

	test("is copied with the command for a browser without Web Serial", async (t) => {
		const { url } = await runGateway(t);
		const page = await open(t, url, { view: "#/add", permissions, prepare: withoutSerialPort(true) });
		await page.getByRole("button", { name: "Copy" }).click();
		await page.locator(".toasts").getByText("Copied").waitFor();
		assert.match(await copied(page), new RegExp(`token=${deviceToken}$`));
	});

	test("is not copied if it is unavailable", async (t) => {
		const { url } = await runGateway(t);
		const page = await open(t, url, { permissions, expected: /ERR_FAILED/ });
		await page.route("**/api/device-token", (route) => route.abort());
		await page.getByRole("button", { name: "Copy" }).first().click();
		await page.getByRole("alert").getByText("The gateway is unreachable.").waitFor();
	});
});

test("redirects to the linked view after the login, also after a wrong token", { skip }, async (t) => {
	const dataDir = await temporaryDirectory(t);
	const { url } = await runGateway(t, { dataDir });
	const device = await new ScriptedDevice({ url, deviceId }).connect();
	t.after(() => device.close());
	const page = await open(t, url, { expected: /401/ });
	await page.context().clearCookies();
	await page.goto(`${url}/${view}`);
	await page.reload();
	await page.getByLabel("Access token").fill("wrong");
	await page.getByRole("button", { name: "Log in" }).click();
	await page.getByText("Invalid access token.").waitFor();
	await page.getByLabel("Access token").fill(monitorToken);
	await page.getByRole("button", { name: "Log in" }).click();
	await page.getByRole("heading", { level: 1, name: deviceId }).waitFor();
	assert.equal(page.url(), `${url}/${view}`);
});

test("fits a label of 64 wide letters into 320 pixels, edited, as title, and while the device is offline", {
	skip,
}, async (t) => {
	const viewport = { width: 320, height: 640 };
	const { device, page } = await setUp(t, { page: { view, viewport, hasTouch: true } });
	await page.getByRole("button", { name: "Edit name, room, note and tags" }).click();
	await page.getByLabel("Name", { exact: true }).fill("W".repeat(64));
	await page.getByLabel("Note", { exact: true }).fill("W".repeat(200));
	assert.deepEqual(await widerThan(page, 320), []);
	await page.getByRole("button", { name: "Save" }).click();
	await page.getByRole("heading", { level: 1, name: "WWW" }).waitFor();
	await page.getByRole("link", { name: "Diagnostics" }).click();
	await page.getByText("Technical details").click();
	assert.deepEqual(await widerThan(page, 320), []);
	device.close();
	await page.locator(".as-of").waitFor();
	assert.deepEqual(await widerThan(page, 320), []);
});
