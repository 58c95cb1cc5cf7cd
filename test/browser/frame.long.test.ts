/** Frame of the page: navigation, content column and what stays in place while data arrive. */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { uplinkExamples } from "../../scripts/api/examples.js";
import { skip } from "../support/chromium.js";
import { eventually } from "../support/eventually.js";
import { bearer, monitorToken, runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { browsing, type OpenOptions } from "./browsing.js";

const open = browsing();
const deviceId = "proto-1-5c02fe";
const views = ["", "announce", "times", "attention", "firmware", "add", "settings"];
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

async function setUp(t: TestContext, count: number, options: OpenOptions = {}) {
	const { url } = await runGateway(t, { dataDir: await temporaryDirectory(t) });
	const ids = [deviceId, ...Array.from({ length: count - 1 }, (_, index) => `dev-1-${100_000 + index}`)];
	// Each has a chip in the list of states.
	const report = { "health.safe_mode": true, "peripherals.audio.fault": "codec: timeout" };
	const crash = uplinkExamples.crash_report.crash;
	const fleet = await Promise.all(
		ids.map((id) => new ScriptedDevice({ url, deviceId: id, version: "1.4.0", report, crash }).connect()),
	);
	t.after(() => {
		for (const device of fleet) device.close();
	});
	const listed = async () => {
		const response = await fetch(`${url}/api/devices?limit=1000`, { headers: bearer(monitorToken) });
		const { devices }: { devices: unknown[] } = JSON.parse(await response.text());
		return devices.length;
	};
	await eventually(listed, (length) => length === count);
	return { url, page: await open(t, url, options) };
}

const titleOf = (page: Page) => page.getByRole("heading", { level: 1 }).first();

/** Titles in the navigation, without numbers. */
async function names(page: Page): Promise<readonly string[]> {
	const texts = await page.getByRole("navigation", { name: "Views" }).getByRole("link").allInnerTexts();
	return texts.map((text) => text.trim().replace(/\s*\d+$/, ""));
}

/** Left edge and font size of the title of each view. */
async function titles(page: Page): Promise<readonly string[]> {
	const found: string[] = [];
	for (const view of views) {
		await page.evaluate(`location.hash = "#/${view}"`);
		await page.locator(`nav a[href="#/${view}"][aria-current]`).first().waitFor({ state: "attached" });
		await titleOf(page).waitFor();
		const { width = 0 } = page.viewportSize() ?? {};
		// A wider page would enlarge the layout viewport of a phone, which hides the bottom bar.
		assert.equal(await page.evaluate("document.documentElement.scrollWidth"), width, `width of #/${view}`);
		// One evaluation, as a view that has loaded replaces the title. One that only screen readers find is 1 px wide.
		const place = await page.evaluate<string>(`(() => {
			const title = document.querySelector("main h1");
			const { x, width } = title.getBoundingClientRect();
			return width > 1 ? Math.round(x) + " " + getComputedStyle(title).fontSize : "hidden";
		})()`);
		found.push(place);
	}
	return found;
}

describe("frame", { skip }, () => {
	test("keeps the left edge and size of the title in every view", async (t) => {
		for (const [options, left] of [
			[{ viewport: { width: 1600, height: 900 } }, 348],
			[phone, 16],
		] as const) {
			const { page } = await setUp(t, 2, options);
			await page.getByText("Safe mode: 2").waitFor();
			assert.deepEqual(
				await titles(page),
				views.map(() => `${left} 28px`),
			);
		}
	});

	test("has a sidebar from 1,000 px on, and a bottom bar with icons below", async (t) => {
		const { page } = await setUp(t, 1, { viewport: { width: 1000, height: 800 } });
		const nav = page.getByRole("navigation", { name: "Views" });
		await nav.getByRole("link", { name: "Firmware" }).waitFor();
		const every = ["Home", "Announce", "Schedules", "Issues", "Firmware", "Add device", "Settings"];
		assert.deepEqual(await names(page), every);
		assert.equal((await page.getByRole("banner").boundingBox())?.width, 216);
		await page.setViewportSize({ width: 999, height: 800 });
		const box = await nav.boundingBox();
		assert.ok(box && box.y + box.height === 800 && box.width === 999, JSON.stringify(box));
		const icons = nav.locator(":scope > a svg, summary svg");
		assert.equal(await icons.count(), 5);
		assert.equal((await icons.first().boundingBox())?.width, 24);
		await nav.getByText("More").click();
		await nav.getByRole("link", { name: "Settings" }).click();
		await titleOf(page).and(page.getByText("Settings")).waitFor();
	});

	test("has the primary button of dialogs at the right of cancel", async (t) => {
		const { page } = await setUp(t, 1, { view: `#/devices/${deviceId}` });
		await page.getByRole("button", { name: "Edit" }).click();
		const dialog = page.getByRole("dialog");
		const left = async (name: string) => (await dialog.getByRole("button", { name }).boundingBox())?.x ?? 0;
		const [save, cancel] = [await left("Save"), await left("Cancel")];
		assert.ok(save > cancel, `Save at ${save}, Cancel at ${cancel}`);
	});

	test("shows the layout and navigation that will stay while the devices load slowly", async (t) => {
		let release = () => {};
		const held = new Promise<void>((resolve) => {
			release = resolve;
		});
		const prepare: OpenOptions["prepare"] = (context) =>
			context.routeWebSocket(/monitor/, (socket) => {
				const server = socket.connectToServer();
				let isFirst = true;
				server.onMessage(async (text) => {
					if (!isFirst) await held;
					else {
						isFirst = false;
						const { devices, remaining = 0, ...rest } = JSON.parse(String(text));
						const after = remaining + devices.length - 10;
						socket.send(JSON.stringify({ ...rest, devices: devices.slice(0, 10), remaining: after }));
						await held;
						const next = { ...rest, reason: "changed", devices: devices.slice(10), remaining };
						return socket.send(JSON.stringify(next));
					}
					socket.send(text);
				});
			});
		const { page } = await setUp(t, 60, { prepare });
		await page.getByText("10 of 60 loaded").waitFor();
		const layout = async () => ({
			tables: await page.locator(".table").count(),
			links: await names(page),
			top: (await titleOf(page).boundingBox())?.y,
		});
		const early = await layout();
		release();
		await page.getByText("Live", { exact: true }).waitFor();
		assert.equal(early.tables, 1);
		assert.deepEqual(early, await layout());
	});
});
