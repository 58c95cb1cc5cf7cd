/** A person sets up schedules, timers and quiet hours, with a device in XS. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { localTime } from "../../gateway/api/client/times.js";
import { call } from "../support/call.js";
import { skip } from "../support/chromium.js";
import { within } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { checkView } from "./axe.js";
import { browsing, disclose, sees } from "./browsing.js";

const open = browsing();
const view = "#/schedules";
/** Time zone of this process, which the gateway under test runs in. */
const timezoneId = Intl.DateTimeFormat().resolvedOptions().timeZone;
const hourMs = 3_600_000;

test("schedules, timers and quiet hours", { skip }, async (t) => {
	const { url, powerOn } = await runFleet(t, undefined, { limits: { scheduleSettleMs: 0 } });
	const { deviceId, report } = await powerOn("DEV-1");
	await report();
	await call(url, "PATCH", `devices/${deviceId}`, { room: "Kitchen", tags: ["shop"] });
	await ScriptedDevice.join(t, { url, deviceId: "dev-1-000001", features: ["sound"] });
	await call(url, "PATCH", "devices/dev-1-000001", { room: "Hall" });
	const page = await open(t, url, { view, timezoneId, expected: /422/ });
	const list = page.getByRole("list", { name: "Schedules" });
	const rules = page.getByRole("list", { name: "Quiet hours" });
	const dialog = page.getByRole("dialog");
	/** Waits for a visible text of the list; its closed dialogs contain the same text. */
	const listed = (text: string | RegExp) => list.getByText(text).filter({ visible: true }).first().waitFor();
	const save = () => dialog.getByRole("button", { name: "Save" }).click();

	await t.test("creates a weekly schedule for a room", async () => {
		await page.getByText("No schedules yet").waitFor();
		await page.getByText("1 device must be updated to support quiet hours.").waitFor();
		await checkView(page);
		await page.getByRole("button", { name: "New schedule" }).click();
		await dialog.getByRole("combobox", { name: "Action" }).selectOption("Set the volume");
		for (const day of ["Sat", "Sun"]) await dialog.getByLabel(day).uncheck();
		await dialog.getByRole("combobox", { name: "Where" }).selectOption({ label: "Devices with tags…" });
		await dialog.getByRole("textbox", { name: "Tags" }).fill("shop or (");
		await save();
		await dialog.getByRole("alert").filter({ hasText: "tags: At the end: write a tag." }).waitFor();
		await checkView(page);
		await dialog.getByRole("combobox", { name: "Where" }).selectOption("Kitchen (1)");
		await save();
		await listed(/^Mon–Fri 08:00 · Kitchen · (next|in) /);
		await checkView(page);
	});

	await t.test("names another time zone to a traveler, with times as in their language", async (t) => {
		const elsewhere = timezoneId === "Asia/Tokyo" ? "Asia/Karachi" : "Asia/Tokyo";
		const traveler = await open(t, url, { view, timezoneId: elsewhere, locale: "en-US" });
		await traveler.getByText(`Times are those of ${timezoneId}, the gateway's time zone.`).waitFor();
		await sees(traveler, /^Mon–Fri 8:00\sAM/);
	});

	await t.test("starts a timer in four taps on a phone, and sees it on Home", async (t) => {
		const phone = await open(t, url, { timezoneId, viewport: { width: 390, height: 844 }, hasTouch: true });
		await phone.getByRole("link", { name: "Schedules" }).tap();
		for (const name of ["New timer", "10 min"]) await phone.getByRole("button", { name, exact: true }).tap();
		await phone.getByRole("combobox", { name: "Action" }).selectOption("Set the volume");
		await phone.getByRole("button", { name: "Start timer" }).tap();
		await sees(phone, /^Volume \d+ · All devices · (10:00|9:\d\d) left$/);
		await phone.getByRole("link", { name: "Home" }).tap();
		await sees(phone.getByRole("region", { name: "Whole home" }), /^Timer (9:\d\d|10:00)$/);
	});

	await t.test("runs a timer, and tells its result", async () => {
		const payload = { command: "set_volume", value: 33 };
		await call(url, "POST", "schedules", {
			at: { in: 1 },
			do: { command: { targets: { room: "Kitchen" }, payload } },
		});
		await within(
			report(({ peripherals }) => peripherals.audio.volume === 33),
			"the volume",
			30_000,
		);
		await listed(/^Done at \d\d:\d\d$/);
	});

	await t.test("sets quiet hours of a room; room and device show when they end", async () => {
		await page.goto(`${url}/#/rooms/Kitchen`);
		await page.getByRole("link", { name: "Quiet hours…" }).click();
		const [start = "", end = ""] = [-hourMs, hourMs].map((ms) =>
			localTime(Date.now() + ms, timezoneId).slice(-5),
		);
		await dialog.getByLabel("From").fill(start);
		await dialog.getByLabel("Until").fill(end);
		await checkView(page);
		await save();
		await rules.getByText(`Active until ${end}`).first().waitFor();
		await checkView(page);
		await within(
			report(({ quiet }) => quiet?.until !== undefined),
			"quiet hours",
			30_000,
		);
		for (const place of ["rooms/Kitchen", `devices/${deviceId}`]) {
			await page.goto(`${url}/#/${place}`);
			await page
				.getByRole("link", { name: `At most 20 until ${end}` })
				.first()
				.waitFor();
		}
		const overview = page.getByRole("region", { name: "Overview" });
		await disclose(overview, "More");
		await overview.getByRole("link", { name: "Quiet hours…" }).click();
		const where = dialog.getByRole("combobox", { name: "Where" });
		assert.equal(await where.locator("option:checked").textContent(), deviceId);
	});

	await t.test("are not deleted and not lost by Back, which closes what is on top of the view", async (t) => {
		const phone = await open(t, url, { timezoneId, viewport: { width: 390, height: 844 }, hasTouch: true });
		await phone.getByRole("link", { name: "Schedules" }).tap();
		const dialogs = phone.getByRole("dialog");
		const backTo = async (count: number) => {
			// Playwright's own method would wait for another view.
			await phone.evaluate("history.back()");
			await dialogs.nth(count).waitFor({ state: "detached" });
			assert.equal(await dialogs.count(), count);
			assert.equal(new URL(phone.url()).hash, view);
		};
		const hours = phone.getByRole("list", { name: "Quiet hours" });
		await hours.getByRole("button", { name: /^Delete/ }).tap();
		await dialogs.waitFor();
		const color = "getComputedStyle(document.querySelector('dialog .danger')).backgroundColor";
		assert.equal(await phone.evaluate(color), "rgb(179, 38, 30)");
		const { x = -1, width = 0, height = 0 } = (await dialogs.getByRole("heading").boundingBox()) ?? {};
		assert.ok(x > 0 && width > 100 && height < 60, `heading of ${width} × ${height} px`);
		await backTo(0);
		await hours.getByRole("button", { name: /^Edit/ }).tap();
		await dialogs.getByLabel("From").fill("01:23");
		await phone.keyboard.press("Escape");
		await sees(dialogs, "Discard the changes?");
		await backTo(1);
		assert.equal(await dialogs.getByLabel("From").inputValue(), "01:23");
		// Chromium lets a page intercept Back once per interaction.
		await dialogs.getByLabel("From").tap();
		await phone.evaluate("history.back()");
		await dialogs.getByRole("button", { name: "Discard" }).tap();
		await dialogs.waitFor({ state: "detached" });
		await hours.getByRole("button", { name: /^Edit/ }).waitFor();
	});
});
