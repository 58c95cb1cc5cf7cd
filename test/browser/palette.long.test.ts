/** Search palette, and the keys that lead to a search. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { call } from "../support/call.js";
import { skip } from "../support/chromium.js";
import { noRateLimits, runGateway } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { violations } from "./axe.js";
import { browsing, type OpenOptions } from "./browsing.js";

const open = browsing();
const ids = ["dev-1-00000a", "dev-1-00000b"] as const;

async function setUp(t: TestContext, options: OpenOptions = {}) {
	const { url } = await runGateway(t, noRateLimits);
	const devices = await Promise.all(ids.map((deviceId) => new ScriptedDevice({ url, deviceId }).connect()));
	t.after(() => {
		for (const device of devices) device.close();
	});
	await call(url, "PATCH", `devices/${ids[0]}`, { name: "Oven", room: "Kitchen" });
	await call(url, "PATCH", `devices/${ids[1]}`, { name: "Shelf", room: "Kitchen" });
	const page = await open(t, url, options);
	await page.getByText("2 of 2 connected").waitFor();
	const palette = page.getByRole("dialog", { name: "Search" });
	const options_ = palette.getByRole("option");
	const active = palette.getByRole("option", { selected: true });
	return { page, devices, palette, options: options_, active };
}

for (const colorScheme of ["light", "dark"] as const)
	test(`finds devices, rooms, views and actions by keyboard, ${colorScheme}`, { skip }, async (t) => {
		const { page, devices, palette, options, active } = await setUp(t, { colorScheme });
		await page.keyboard.press("Control+k");
		const field = palette.getByRole("combobox");
		await field.and(page.locator(":focus")).waitFor();
		assert.deepEqual(await violations(page), []);
		await page.keyboard.type("kitchen");
		await options.filter({ hasText: /^KitchenRoom$/ }).waitFor();
		await options.filter({ hasText: /^OvenKitchen$/ }).waitFor();
		await options.filter({ hasText: "Announce in Kitchen" }).waitFor();
		assert.equal(await field.getAttribute("aria-activedescendant"), await active.getAttribute("id"));
		assert.deepEqual(await violations(page), []);
		await page.keyboard.press("ArrowDown");
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { level: 1, name: "Oven" }).waitFor();
		await palette.waitFor({ state: "detached" });

		await page.keyboard.press("Control+k");
		await field.fill("audit");
		await page.keyboard.press("Enter");
		await page.getByRole("list", { name: "Audit log" }).waitFor();

		await page.keyboard.press("Control+k");
		await field.fill("flash shelf");
		await palette.getByText("No matches.").waitFor();
		await field.fill("shelf");
		await options.filter({ hasText: "Flash light of Shelf" }).click();
		await devices[1]?.receives({ command: "identify" });
	});

test("reaches a search within three tabs, and by / from the list and from other views", {
	skip,
}, async (t) => {
	const { page, palette } = await setUp(t);
	const focused = (name: string) => page.getByRole("button", { name }).and(page.locator(":focus")).waitFor();
	for (let press = 0; press < 3; press++) await page.keyboard.press("Tab");
	await focused("Search");
	await page.keyboard.press("Enter");
	await palette.waitFor();
	await page.keyboard.press("Escape");
	await palette.waitFor({ state: "detached" });
	await focused("Search");
	await page.keyboard.press("/");
	const search = page.getByRole("searchbox", { name: "Search" });
	await search.and(page.locator(":focus")).waitFor();
	await page.keyboard.type("a/b");
	assert.equal(await search.inputValue(), "a/b");
	await page.getByText("No devices match.").waitFor();
	await page.getByRole("link", { name: "Issues" }).click();
	console.log(page.url(), await page.locator("main").innerText());
	await page.getByRole("heading", { level: 1 }).getByText("All good").waitFor();
	await page.keyboard.press("/");
	await palette.waitFor();
});
