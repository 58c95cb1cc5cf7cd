/** An operator of 3,000 speakers searches, filters, scrolls and sorts them, and controls a selection. */

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { call } from "../support/call.js";
import { skip } from "../support/chromium.js";
import { eventually, waitUntil } from "../support/eventually.js";
import { noRateLimits, runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { checkView } from "./axe.js";
import { browsing, disclose } from "./browsing.js";

const open = browsing();
const known = 3_000;
const connected = 30;

function idOf(index: number): string {
	return `dev-1-${String(index).padStart(6, "0")}`;
}

/** Starts a gateway that knows these devices; the first ones are connected. */
async function runMany(t: TestContext) {
	const dataDir = await temporaryDirectory(t);
	const first = await runGateway(t, { dataDir });
	const device = await new ScriptedDevice({ url: first.url, deviceId: idOf(0) }).connect();
	const record = join(dataDir, "devices", `${idOf(0)}.json`);
	await waitUntil(async () => (await readFile(record, "utf8").catch(() => "")).includes("1.2.3"));
	device.close();
	await first.gateway.close();
	const text = await readFile(record, "utf8");
	for (let index = 1; index < known; index++)
		await writeFile(join(dataDir, "devices", `${idOf(index)}.json`), text.replaceAll(idOf(0), idOf(index)));
	const { url } = await runGateway(t, { ...noRateLimits, dataDir });
	const devices = Array.from(
		{ length: connected },
		(_, index) => new ScriptedDevice({ url, deviceId: idOf(index), executesCommands: index !== 2 }),
	);
	await Promise.all(devices.map((device) => device.connect()));
	t.after(() => {
		for (const device of devices) device.close();
	});
	return { url, devices };
}

/** Key of the row with the focus. */
function focused(page: Page): Promise<string> {
	return page.evaluate("document.activeElement.closest('[data-key]')?.dataset.key ?? ''");
}

function hashOf(page: Page): string {
	return new URL(page.url()).hash;
}

test("a large fleet", { skip }, async (t) => {
	const { url, devices } = await runMany(t);
	for (const [index, change] of [
		[7, { name: "Lobby speaker", room: "Hall", note: "Behind the plant", tags: ["beta"] }],
		[11, { name: "Zoo <img src=x onerror=injected=1>", room: "<b>Attic</b>", tags: ["beta"] }],
	] as const)
		await eventually(() => call(url, "PATCH", `devices/${idOf(index)}`, change));
	const page = await open(t, url);
	const heard = new Set<string>();
	page.on("websocket", (socket) => {
		socket.on("framereceived", ({ payload }) => {
			const frame: { readonly type: string; readonly deviceId: string } = JSON.parse(String(payload));
			if (frame.type === "device_message") heard.add(frame.deviceId);
		});
	});
	const grid = page.getByRole("grid", { name: "Devices" });
	const search = page.getByRole("searchbox", { name: "Search" });
	const row = (index: number) => grid.getByRole("row", { name: idOf(index) });
	const found = (text: string) => page.getByText(text, { exact: true }).waitFor();
	const bar = page.getByRole("region", { name: "Selected devices" });

	await t.test("is a table that renders only visible rows, and shows data as text", async () => {
		await found("30 of 3,000 connected");
		await row(0).waitFor();
		// Includes the header, and the headings of two rooms and of the devices without one.
		assert.equal(await grid.getAttribute("aria-rowcount"), "3004");
		await checkView(page);
		await search.fill("<img");
		await grid.getByRole("link", { name: "Zoo <img src=x onerror=injected=1>" }).waitFor();
		assert.equal(await page.evaluate("document.querySelectorAll('main img[src=x]').length"), 0);
		assert.equal(await page.evaluate("typeof injected"), "undefined");
		await search.fill("");
		await row(0).waitFor();
	});

	await t.test("scrolls to its end while a row keeps the focus", async () => {
		await row(3).getByRole("link").focus();
		await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
		await row(known - 1).waitFor();
		const rendered = await grid.getByRole("row").count();
		assert.ok(rendered < 80, `${rendered} rows are rendered`);
		assert.equal(await row(60).count(), 0);
		assert.equal(await focused(page), idOf(3));
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { level: 1, name: idOf(3) }).waitFor();
	});

	await t.test("returns to the same place and device by the back button", async () => {
		for (const look of ["table", "list"]) {
			await page.goto(`${url}/#/?search=dev-1&view=${look}`);
			await page.reload();
			await found("3,000 of 3,000 devices");
			await page.evaluate("scrollTo(0, 2000)");
			const middle = `[...document.querySelectorAll("[data-key]")]
				.find((row) => row.getBoundingClientRect().top > 200)?.dataset.key ?? null`;
			// Rows move until their height is measured.
			let latest: string | null = null;
			const readKey = async () => {
				const before = latest;
				await page.evaluate("new Promise(requestAnimationFrame)");
				latest = await page.evaluate<string | null>(middle);
				return latest === before ? latest : null;
			};
			const key = await eventually(readKey, (found) => found !== null);
			const link = page.getByRole("link", { name: String(key), exact: true });
			await link.click();
			await page.getByRole("heading", { level: 1, name: "dev-1-" }).waitFor();
			assert.equal(await page.evaluate("scrollY"), 0);
			await page.goBack();
			await link.and(page.locator(":focus")).waitFor();
			assert.equal(await page.evaluate("scrollY"), 2000, look);
		}
	});

	await t.test("requests reports only of devices on the screen", async () => {
		const volume = (value: number) => page.getByText(String(value), { exact: true }).first().waitFor();
		await page.goto(`${url}/#/?view=list&state=connected`);
		await page.reload();
		await page.getByRole("img", { name: "LED ring: rainbow" }).first().waitFor();
		heard.clear();
		for (const device of devices) device.report({ "peripherals.audio.volume": 7 });
		await volume(7);
		await waitUntil(() => heard.size > 0);
		assert.ok(heard.size < connected, `${heard.size} devices' reports`);
	});

	await t.test("keeps filters, order and view in its address", async () => {
		await page.goto(`${url}/#/?view=table`);
		await page.getByRole("button", { name: "Filter" }).click();
		await page.getByRole("combobox", { name: "State" }).selectOption("connected");
		await page.getByRole("button", { name: "Tags" }).click();
		await page.getByRole("textbox", { name: "Tags" }).fill("beta");
		await search.fill("plant");
		await found("1 of 3,000 devices");
		const hash = hashOf(page);
		const linked = await open(t, url, { view: hash });
		await linked.getByText("1 of 3,000 devices").waitFor();
		await linked.getByRole("row", { name: "Lobby speaker" }).getByText("Hall").waitFor();
		await linked.getByRole("link", { name: "Firmware" }).click();
		await linked.getByRole("heading", { name: "Releases" }).waitFor();
		await linked.getByRole("link", { name: "Home" }).click();
		await linked.getByText("1 of 3,000 devices").waitFor();
		assert.equal(hashOf(linked), hash, "it outlives other views");
		await linked.getByRole("button", { name: "Show all" }).click();
		await linked.getByText("30 of 3,000 connected").waitFor();
		await linked.goBack();
		await linked.getByText("1 of 3,000 devices").waitFor();
		await page.goto(`${url}/#/?version=9.9.9&view=table`);
		await page.getByText("No devices match.").waitFor();
		await checkView(page);
		for (const broken of ["#/?search=%E0%A4%A", "#/devices/%E0%A4%A"]) {
			await linked.goto(`${url}/${broken}`);
			await linked.getByRole("heading", { level: 1 }).waitFor();
		}
	});

	await t.test("is operated by keyboard alone, from the first Tab to a command", async () => {
		await page.goto(`${url}/#/?view=table&sort=model`);
		await page.reload();
		await row(0).waitFor();
		const names: string[] = [];
		for (let press = 0; press < 20 && names.at(-1) !== "search"; press++) {
			await page.keyboard.press("Tab");
			names.push(await page.evaluate("document.activeElement.textContent || document.activeElement.type"));
		}
		assert.ok(names[0]?.startsWith("Skip") && names.at(-1) === "search", names.join());
		await page.keyboard.press("ArrowDown");
		assert.equal(await focused(page), idOf(0));
		await page.keyboard.press("End");
		await waitUntil(async () => (await focused(page)) === idOf(11));
		await page.keyboard.press("Home");
		await waitUntil(async () => (await focused(page)) === idOf(0));
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Space");
		for (let press = 0; press < 3; press++) await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Shift+Space");
		await bar.getByText("4 selected", { exact: true }).waitFor();
		await checkView(page);
	});

	await t.test("sends a command to the selection, and shows its results after a reload", async () => {
		await disclose(bar, "Volume");
		await bar.getByRole("spinbutton", { name: "Volume" }).fill("12");
		await bar.getByRole("button", { name: "Set volume" }).click();
		const results = page.getByRole("region", { name: "Volume 12" });
		await results.getByText("Sent to 1, 3 done").waitFor();
		await page.reload();
		devices[2]?.reject("set_volume", "the codec does not answer");
		await results.getByText("1 failed, 3 done").waitFor();
		await results.getByRole("button", { name: "Details" }).click();
		await results.getByText("failed: The codec does not answer.").waitFor();
		await checkView(page);
	});

	await t.test("asks before devices are forgotten, and no longer finds them", async () => {
		await page.goto(`${url}/#/?search=dev-1-00299&view=table`);
		await page.getByRole("button", { name: /^Select (all|these)/ }).click();
		await disclose(bar, "More");
		await bar.getByRole("button", { name: "Forget 10 offline" }).click();
		const dialog = page.getByRole("dialog");
		await checkView(page);
		await dialog.getByRole("button", { name: "Forget 10 devices" }).click();
		await found("0 of 2,990 devices");
	});

	await t.test("finds devices by the search palette", async () => {
		const palette = page.getByRole("dialog", { name: "Search" });
		await page.keyboard.press("Control+k");
		await palette.getByRole("combobox").fill("lobby speaker");
		await palette.getByRole("option", { name: /^Lobby speaker/ }).waitFor();
		await checkView(page);
		await page.keyboard.press("Escape");
		await palette.waitFor({ state: "detached" });
	});
});
