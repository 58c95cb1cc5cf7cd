/** Device page: notices, stable layout and wording. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { APIResponse, Locator, Page, Route } from "playwright-core";
import { uplinkExamples } from "../../scripts/api/examples.js";
import { skip } from "../support/chromium.js";
import { eventually } from "../support/eventually.js";
import { runGateway } from "../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../support/scripted-device.js";
import { browsing, type OpenOptions } from "./browsing.js";

const open = browsing();

/** Shares one gateway between the tests of a suite, each with its own device. */
async function setUp(t: TestContext) {
	const { url } = await runGateway(t);
	let count = 0;
	return async (
		t: TestContext,
		part: string,
		options: Partial<ScriptedDeviceOptions> = {},
		pageOptions: OpenOptions = {},
	) => {
		count += 1;
		const deviceId = `dev-1-00000${count}`;
		const device = await new ScriptedDevice({ url, deviceId, ...options }).connect();
		t.after(() => device.close());
		const page = await open(t, url, { ...pageOptions, view: `#/devices/${deviceId}${part}` });
		await page.getByRole("heading", { level: 1, name: deviceId }).waitFor();
		return { device, page };
	};
}

/** Position of the tabs, below the header, whose height must not change. */
async function tabsAt(page: Page): Promise<number> {
	const box = await page.getByRole("navigation", { name: "Parts of this page" }).boundingBox();
	assert.ok(box, "the tabs are not visible");
	return box.y;
}

/** Undefined once the gateway has stopped. */
function fetched(route: Route): Promise<APIResponse | undefined> {
	return route.fetch().catch(() => undefined);
}

const notice = (page: Page) => page.locator(".device-notice");

test("device page", { skip }, async (t) => {
	const look = await setUp(t);

	await t.test("describes the ring state without a cause that contradicts the connection", async (t) => {
		const preset = { "peripherals.led_ring.state_id": 2, "peripherals.led_ring.state_name": "failed" };
		const { page } = await look(t, "", { report: preset });
		await page.getByRole("img", { name: "LED ring: red, 50%" }).waitFor();
		assert.equal(await page.getByText("no Wi-Fi").count(), 0);
	});

	await t.test(
		"shows a notice only during a fault, and does not move when the label is edited",
		async (t) => {
			const { device, page } = await look(t, "");
			await page.getByRole("region", { name: "Light" }).waitFor();
			assert.equal(await notice(page).count(), 0);
			const before = await tabsAt(page);
			await page.getByRole("button", { name: "Edit name, room, note and tags" }).click();
			await page.getByLabel("Name", { exact: true }).waitFor();
			assert.equal(await tabsAt(page), before);
			await page.keyboard.press("Escape");
			device.close();
			await page.getByText(/^Offline since/).waitFor();
			await device.connect();
			await notice(page).waitFor({ state: "detached" });
			assert.equal(await tabsAt(page), before);
		},
	);

	await t.test("shows room, volume, announce and tabs in the upper half of a phone", async (t) => {
		const { device, page } = await look(t, "", {}, { viewport: { width: 390, height: 844 } });
		const { deviceId } = device;
		await page.getByRole("button", { name: "Edit name, room, note and tags" }).click();
		await page.getByLabel("Room", { exact: true }).fill("Kitchen");
		await page.getByRole("button", { name: "Save" }).click();
		const hero = page.getByRole("region", { name: "Overview" });
		const room = hero.getByRole("link", { name: "Kitchen", exact: true });
		const topOf = async (one: Locator) => (await one.boundingBox())?.y ?? Number.NaN;
		const [roomTop, nameTop] = [await topOf(room), await topOf(hero.getByRole("heading", { level: 1 }))];
		assert.ok(roomTop < nameTop, `the room is at ${roomTop} pixels, the name at ${nameTop}`);
		assert.ok((await tabsAt(page)) < 422, `the parts begin at ${await tabsAt(page)} pixels`);
		await hero.getByRole("slider", { name: "Volume" }).waitFor();
		const identify = hero.getByRole("button", { name: "Flash light", exact: true });
		assert.equal(await identify.textContent(), "", "an icon");
		const ring = await hero.locator(".ring").boundingBox();
		assert.deepEqual([ring?.width, ring?.height], [96, 96]);
		await identify.click();
		await device.receives({ command: "identify" });
		await hero.getByRole("button", { name: `Mute ${deviceId}` }).click();
		await device.receives({ command: "set_volume", value: 0 });
		await hero.getByRole("link", { name: "Announce" }).click();
		await page.getByRole("button", { name: `Announce on ${deviceId}` }).waitFor();
	});

	await t.test("starts at the top on a phone, with the whole header", async (t) => {
		const { page } = await look(t, "", {}, { viewport: { width: 390, height: 844 } });
		await page.getByRole("link", { name: "Home", exact: true }).first().click();
		await page.locator(".device-row a").first().click();
		await page.getByRole("navigation", { name: "Parts of this page" }).waitFor();
		await page.locator("main:focus").waitFor();
		assert.equal(await page.evaluate("scrollY"), 0);
	});

	await t.test("ignores changes that are displayed the same", async (t) => {
		const { device, page } = await look(t, "/log", { report: { "health.free_heap_bytes": 112 * 1024 } });
		device.report({ "health.free_heap_bytes": 112 * 1024 + 100 });
		await page.locator(".log summary", { hasText: "no change" }).waitFor();
		assert.equal(await page.getByText("112 KB → 112 KB").count(), 0);
	});

	await t.test("counts down a settings trial without showing an outage", async (t) => {
		const { device, page } = await look(t, "/settings", { executesCommands: false });
		await page.getByText("Advanced").click();
		await page.getByLabel("Time server", { exact: true }).fill("time.example");
		await page.getByRole("button", { name: "Apply" }).click();
		const left = notice(page).getByText(/left to reach a gateway$/);
		await left.waitFor();
		device.close();
		await page.locator(".device.stale").waitFor();
		const first = await left.innerText();
		await notice(page).getByText("Trying new settings").waitFor();
		await eventually(
			() => left.innerText(),
			(text) => text !== first,
		);
		await device.connect();
		device.endTrial();
		await notice(page).waitFor({ state: "detached" });
	});

	await t.test(
		"shows settings in one column, rare ones collapsed, with the current Wi-Fi and a token",
		async (t) => {
			const { page } = await look(t, "/settings", { report: { "network.wifi_ssid": "attic" } });
			await page.getByText("Now: attic").waitFor();
			for (const group of ["Wi-Fi", "Second network", "Gateway"])
				await page.getByRole("group", { name: group, exact: true }).waitFor();
			assert.equal(await page.getByLabel("Time server", { exact: true }).isVisible(), false);
			const width = (await page.locator(".settings").boundingBox())?.width ?? Number.NaN;
			assert.ok(width <= 480, `${width} pixels`);
			const token = page.getByLabel("Token", { exact: true });
			await token.fill("a-token");
			await page.locator(".secret", { has: token }).getByRole("button", { name: "Show" }).click();
			assert.equal(await token.getAttribute("type"), "text");
		},
	);

	await t.test("keeps its four tabs in the URL across reload and back", async (t) => {
		const { page } = await look(t, "");
		for (const [name, part] of [
			["Firmware", "/firmware"],
			["Settings", "/settings"],
			["Diagnostics", "/diagnostics"],
		] as const) {
			await page.getByRole("navigation", { name: "Parts of this page" }).getByText(name).click();
			await page.locator(".tabs [aria-current]", { hasText: name }).waitFor();
			assert.ok(page.url().endsWith(part), page.url());
		}
		await page.reload();
		await page.getByRole("region", { name: "Log" }).waitFor();
		await page.goBack();
		await page.getByRole("region", { name: "Settings" }).waitFor();
	});

	await t.test(
		"has controls in its overview, and all diagnostics in one tab with earlier addresses",
		async (t) => {
			const { device, page } = await look(t, "");
			await page.getByRole("region", { name: "Light" }).waitFor();
			const diagnostics = ["Details", "Buttons and sensors", "History", "Last 24 hours", "Log"];
			for (const name of diagnostics)
				assert.equal(await page.getByRole("region", { name, exact: true }).count(), 0, name);
			assert.equal(await page.getByText(/dBm|KB/).count(), 0);
			for (const part of ["history", "log", "diagnostics"]) {
				await page.evaluate(`location.hash = "#/devices/${device.deviceId}/${part}"`);
				await page.locator(".tabs [aria-current]", { hasText: "Diagnostics" }).waitFor();
				for (const name of diagnostics) await page.getByRole("region", { name, exact: true }).waitFor();
				await page.getByRole("link", { name: "Overview" }).click();
				await page.getByRole("region", { name: "Light" }).waitFor();
			}
		},
	);

	await t.test("has rare actions under More, which closes on Escape and on selection", async (t) => {
		const { device, page } = await look(t, "");
		const report = page.getByRole("button", { name: "Refresh" });
		assert.equal(await report.isVisible(), false);
		await page.locator(".hero").locator("summary", { hasText: "More" }).click();
		await page.keyboard.press("Escape");
		await report.waitFor({ state: "hidden" });
		await page.locator(".hero").locator("summary", { hasText: "More" }).click();
		await report.click();
		await device.receives({ command: "query_state" });
		await report.waitFor({ state: "hidden" });
	});

	await t.test("stops a playing sound", async (t) => {
		const { device, page } = await look(t, "");
		const stop = page.getByRole("button", { name: "Stop" });
		await page.getByRole("region", { name: "Light" }).waitFor();
		assert.equal(await stop.count(), 0);
		const track = "file:///sounds/doorbell";
		device.report({ "peripherals.audio.player_state": "playing", "peripherals.audio.current_track": track });
		await stop.click();
		await device.receives({ command: "stop_sound" });
		device.report({ "peripherals.audio.player_state": "idle", "peripherals.audio.current_track": "none" });
		await stop.waitFor({ state: "detached" });
	});

	await t.test("draws no mark before the axis of a plot", async (t) => {
		const { page } = await look(
			t,
			"/history",
			{},
			{
				prepare: async (context) => {
					await context.route("**/history", async (route) => {
						const response = await fetched(route);
						if (!response) return;
						const past: { marks: object[] } = await response.json();
						const at = new Date(Date.now() - 200_000).toISOString();
						past.marks.unshift({ at, kind: "restart", reason: "SW_RESET", version: null });
						await route.fulfill({ response, json: past });
					});
				},
			},
		);
		await page.locator(".plot-mark").first().waitFor({ state: "attached" });
		const places = await page
			.locator(".plot-mark")
			.evaluateAll((marks) =>
				marks.map((mark) => Number(/^M([-\d.]+)/.exec(mark.getAttribute("d") ?? "")?.[1])),
			);
		assert.deepEqual(
			places.filter((place) => !(place >= 0 && place <= 100)),
			[],
		);
	});

	await t.test("shows a crash in its header until it is dismissed", async (t) => {
		const { crash } = uplinkExamples.crash_report;
		const { page } = await look(t, "/log", { crash, version: crash.firmware_version });
		await notice(page)
			.getByText(/^Uncaught exception, /)
			.waitFor();
		const box = await notice(page).boundingBox();
		assert.ok(box && box.y < 300, `at ${box?.y} pixels`);
		await notice(page).getByRole("link", { name: "Diagnostics" }).click();
		await page.getByRole("region", { name: "History" }).getByText("Stack and last lines").waitFor();
		await notice(page).getByRole("button", { name: "Dismiss" }).click();
		await notice(page).waitFor({ state: "detached" });
		await page.reload();
		await page.getByRole("region", { name: "History" }).getByText("Stack and last lines").waitFor();
		assert.equal(await notice(page).count(), 0);
	});

	await t.test("announces no reports to screen readers", async (t) => {
		const { page } = await look(t, "");
		await page.getByRole("slider", { name: "Volume" }).waitFor();
		assert.equal(await page.locator("output").count(), 0);
	});
});
