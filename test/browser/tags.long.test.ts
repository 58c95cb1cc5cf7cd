/** Tags on the page: assigned to one or several devices, shown, filtered by, and announced to. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { SoundDevice } from "../gateway/announcements/sound-device.js";
import { call } from "../support/call.js";
import { skip } from "../support/chromium.js";
import { eventually } from "../support/eventually.js";
import { noRateLimits, runGateway } from "../support/running.js";
import { tone, wav } from "../support/sounds.js";
import { violations } from "./axe.js";
import { browsing, problems } from "./browsing.js";

const open = browsing();
const ids = ["dev-1-00000a", "dev-1-00000b", "dev-1-00000c"] as const;

interface Tagged {
	readonly tags?: readonly string[];
}

async function setUp(t: TestContext, ...tags: readonly (readonly string[])[]) {
	const { url } = await runGateway(t, noRateLimits);
	const devices: SoundDevice[] = [];
	for (const deviceId of ids) {
		const device = await new SoundDevice({ url, deviceId }).connect();
		t.after(() => device.close());
		devices.push(device);
	}
	await eventually(
		() => call<{ readonly devices: readonly unknown[] }>(url, "GET", "devices"),
		(list) => list.devices.length === ids.length,
	);
	for (const [index, given] of tags.entries())
		await call(url, "PATCH", `devices/${ids[index]}`, { tags: given });
	const tagsAre = (...expected: readonly string[]) =>
		eventually(
			() => Promise.all(ids.map((id) => call<Tagged>(url, "GET", `devices/${id}`))),
			(each) => each.map((device) => device.tags?.join(" ") ?? "").join() === expected.join(),
		);
	return { url, devices, tagsAre };
}

const field = (page: Page) => page.getByRole("textbox", { name: "Tags" });

test("adds tags in the label dialog, reports invalid ones, and links each tag to its devices", {
	skip,
}, async (t) => {
	const { url, tagsAre } = await setUp(t, [], ["beta"]);
	const page = await open(t, url, { view: `#/devices/${ids[0]}` });
	await page.getByRole("button", { name: "Edit name, room, note and tags" }).click();
	const dialog = page.getByRole("dialog");
	await dialog.getByText("Separate tags with spaces.", { exact: true }).waitFor();
	await dialog.getByRole("button", { name: "beta", exact: true }).click();
	assert.equal(await field(page).inputValue(), "beta");
	await field(page).fill("Shop-Berlin, büro");
	await dialog.getByRole("button", { name: "Save" }).click();
	await problems(page)
		.filter({ hasText: /^“büro” is not a valid tag\. Use up to .+, starting with a letter or digit/ })
		.waitFor();
	assert.deepEqual(await violations(page), []);
	await field(page).fill("Shop-Berlin, beta");
	await dialog.getByRole("button", { name: "Save" }).click();
	await tagsAre("beta shop-berlin", "beta", "");
	const links = page.getByRole("list", { name: "Tags" }).getByRole("link");
	await links.nth(1).waitFor();
	assert.deepEqual(await links.allTextContents(), ["beta", "shop-berlin"]);
	assert.deepEqual(await violations(page), []);
	await links.first().click();
	await page.getByText("2 of 3 devices", { exact: true }).waitFor();
	await page.goto(`${url}/#/devices/${ids[0]}`);
	await page.getByRole("button", { name: "Edit name, room, note and tags" }).click();
	await field(page).fill("");
	await dialog.getByRole("button", { name: "Save" }).click();
	await tagsAre("", "beta", "");
	await links.first().waitFor({ state: "detached" });
});

test("filters the list by a tag expression, reports its errors, and edits the tags of a selection", {
	skip,
}, async (t) => {
	const { url, tagsAre } = await setUp(t, ["beta", "shop"], ["shop"]);
	for (const look of ["list", "table"]) {
		const page = await open(t, url, { view: `#/?view=${look}` });
		const heading = (text: string) => page.getByText(text, { exact: true }).waitFor();
		await page.getByRole("button", { name: "Filter" }).click();
		await field(page).fill("shop and not beta");
		await heading("1 of 3 devices");
		await page.getByRole("link", { name: ids[1] }).waitFor();
		await page.locator("span.tag", { hasText: /^shop$/ }).waitFor();
		assert.match(page.url(), /tags=shop\+and\+not\+beta/);
		await field(page).fill("shop AND beta");
		await page.getByText("At character 6: write and in place of AND.", { exact: true }).waitFor();
		await heading("0 of 3 devices");
		assert.deepEqual(await violations(page), []);
		await page.getByRole("button", { name: "Show all" }).click();
		await heading("3 of 3 connected");
		assert.equal(await field(page).inputValue(), "");
	}
	const page = await open(t, url, { view: "#/?view=table&tags=shop" });
	await page.getByRole("button", { name: "Select these 2" }).click();
	const selected = page.getByRole("region", { name: "Selected devices" });
	await selected.locator("summary", { hasText: "Tags" }).click();
	const fieldOfNew = selected.getByRole("textbox", { name: "New tags" });
	await fieldOfNew.fill("Window not");
	await selected.getByRole("button", { name: "Add", exact: true }).click();
	await problems(page)
		.filter({ hasText: /^“not” is not a valid tag/ })
		.waitFor();
	await fieldOfNew.fill("Window");
	await selected.getByRole("button", { name: "Add", exact: true }).click();
	await tagsAre("beta shop window", "shop window", "");
	assert.deepEqual(await violations(page), []);
	// Each chip adds its tag to all, or removes it where all have it.
	await selected.getByRole("button", { name: "window", exact: true, pressed: true }).click();
	await tagsAre("beta shop", "shop", "");
	await selected.getByRole("button", { name: "beta 1", pressed: false }).click();
	await tagsAre("beta shop", "beta shop", "");
});

test("announces to, and schedules for, the devices that match a tag expression", {
	skip,
}, async (t) => {
	const { url, devices } = await setUp(t, ["beta", "shop"], ["shop"]);
	await call(url, "POST", "sounds?name=Dinner", wav(tone(16_000)));
	const page = await open(t, url, {
		view: "#/announce",
		viewport: { width: 390, height: 844 },
		expected: /422/,
	});
	await page.getByRole("button", { name: "Saved", exact: true }).click();
	await page.getByRole("radio", { name: "Dinner" }).check();
	await page.getByRole("combobox", { name: "Play on" }).selectOption({ label: "Devices with tags…" });
	await field(page).fill("shop and");
	await page.getByText("At the end: write a tag.", { exact: true }).waitFor();
	assert.ok(
		await page.getByRole("button", { name: "Announce on 0 devices" }).isDisabled(),
		"the button is enabled",
	);
	assert.deepEqual(await violations(page), []);
	await field(page).fill("shop and not beta");
	await page.getByRole("button", { name: `Announce on ${ids[1]}` }).click();
	const [, matching] = devices;
	assert.ok(matching, `only ${devices.length} devices`);
	const asked = ({ commands }: SoundDevice) =>
		commands.flatMap(({ command, value }) => (command === "play_sound" ? [String(Object(value).id)] : []));
	const [id = ""] = await eventually(
		() => asked(matching),
		({ length }) => length === 1,
	);
	matching.update(id, "played");
	await page.getByText(/^Devices with shop and not beta, /).waitFor();
	assert.deepEqual(
		devices.map((device) => asked(device).length),
		[0, 1, 0],
	);

	await page.goto(`${url}/#/times`);
	await page.getByRole("button", { name: "New timer" }).click();
	await page.getByRole("combobox", { name: "Action" }).selectOption({ label: "Set the volume" });
	await page.getByRole("combobox", { name: "Where" }).selectOption({ label: "Devices with tags…" });
	await field(page).fill("shop or (");
	await page.getByText("At the end: write a tag.", { exact: true }).waitFor();
	await page.getByRole("button", { name: "Start timer" }).click();
	await problems(page).filter({ hasText: "tags: At the end: write a tag." }).waitFor();
	await field(page).fill("shop or beta");
	await page.getByRole("button", { name: "Start timer" }).click();
	await page.getByText(/Devices with shop or beta/).waitFor();
});
