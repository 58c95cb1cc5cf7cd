/** Schedules view: schedules, timers and quiet hours, with a device in XS. */

import assert from "node:assert/strict";
import fs, { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { generateTokens, tokenPath, writeTokenFile } from "../../gateway/access/tokens.js";
import { localTime } from "../../gateway/api/client/times.js";
import type { PersonRole } from "../../gateway/api/person.js";
import { extensions } from "../../gateway/extensions.js";
import { createSchedules } from "../../gateway/schedules/extension.js";
import { skip } from "../support/chromium.js";
import { runFleet } from "../support/fleet.js";
import { commandLine } from "../support/gateway-settings.js";
import { bearer, monitorToken, runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { bytesPerSecond, capture, tone, wav } from "../support/sounds.js";
import { violations } from "./axe.js";
import { browsing } from "./browsing.js";

const open = browsing();
const view = "#/times";
/** Time zone of this process, which the gateway under test runs in. */
const timezoneId = Intl.DateTimeFormat().resolvedOptions().timeZone;
const hourMs = 3_600_000;

/** Starts a gateway with a voice and a device in the kitchen. */
async function setUp(t: TestContext) {
	const voice = join(await temporaryDirectory(t), "voice.mjs");
	const spoken = wav(tone(bytesPerSecond)).toString("base64");
	await writeFile(voice, `process.stdin.resume(); process.stdout.write(Buffer.from("${spoken}", "base64"));`);
	const { url, powerOn } = await runFleet(t, undefined, {
		environment: { SPEECH_COMMAND: commandLine(process.execPath, voice) },
		limits: { scheduleSettleMs: 0 },
	});
	const call = async (method: string, path: string, body: object) => {
		const headers = { ...bearer(monitorToken), "Content-Type": "application/json" };
		const response = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) });
		assert.ok(response.ok, await response.text());
	};
	const { device, deviceId, report } = await powerOn("DEV-1", { serial: "a1b2c3" });
	await report();
	await call("PATCH", `/api/devices/${deviceId}`, { room: "Kitchen" });
	return { url, call, report, deviceId, captured: capture(device.board) };
}

test("schedules", { skip }, async (t) => {
	const { url, call, report, captured } = await setUp(t);
	const page = await open(t, url, { view, timezoneId });
	const list = page.getByRole("list", { name: "Schedules" });
	const dialog = page.getByRole("dialog");
	/** Closes confirmation dialogs, which contain the same text. */
	const listed = (text: string | RegExp) => list.getByText(text).filter({ visible: true });
	const save = () => dialog.getByRole("button", { name: "Save" }).click();

	await t.test("creates a weekly schedule", async () => {
		await page.getByText("No schedules yet").waitFor();
		assert.equal(await page.getByText("Times are those of").count(), 0);
		await page.getByRole("button", { name: "New schedule" }).click();
		await dialog.getByRole("button", { name: "Save", disabled: true }).waitFor();
		assert.deepEqual(await violations(page), []);
		await dialog.getByLabel("Message").fill("We close in ten minutes");
		for (const day of ["Sat", "Sun"]) await dialog.getByLabel(day).uncheck();
		await dialog.getByRole("combobox", { name: "Where" }).selectOption("Kitchen (1)");
		await dialog.getByLabel("Chime first").check();
		await save();
		await listed("“We close in ten minutes”").waitFor();
		await listed(/^Mon–Fri 08:00 · Kitchen · (next|in) /).waitFor();
		assert.equal(await dialog.count(), 0);
		assert.deepEqual(await violations(page), []);
	});

	await t.test("edits, disables and, after confirmation, deletes a schedule", async () => {
		const name = "“We close in ten minutes”";
		await page.getByRole("button", { name: `Edit ${name}` }).click();
		assert.ok(await dialog.getByLabel("Chime first").isChecked(), "Chime first is not checked");
		await dialog.getByLabel("Time").fill("17:50");
		await dialog.getByLabel("Sat").check();
		await save();
		await listed(/^Mon–Sat 17:50 · Kitchen · /).waitFor();
		await page.getByRole("button", { name: `On: ${name}`, pressed: true }).click();
		await listed("Mon–Sat 17:50 · Kitchen · Off").waitFor();
		await page.getByRole("button", { name: `Delete ${name}` }).click();
		await dialog.getByRole("button", { name: "Cancel" }).click();
		await page.getByRole("button", { name: `Delete ${name}` }).click();
		await dialog.getByRole("button", { name: "Delete", exact: true }).click();
		await list.getByText(name).first().waitFor({ state: "detached" });
	});

	await t.test("creates one-time schedules and timers, and cancels a timer", async () => {
		await page.getByRole("button", { name: "New schedule" }).click();
		await dialog.getByRole("button", { name: "Once" }).click();
		await dialog.getByLabel("Date and time").fill("2037-11-28T07:30");
		await dialog.getByRole("combobox", { name: "Action" }).selectOption("Play a chime");
		await save();
		await listed("Chime: Attention").waitFor();
		await listed("Sat 28 Nov 07:30 · All devices").waitFor();
		await page.getByRole("button", { name: "New timer" }).click();
		await dialog.getByRole("button", { name: "15 min" }).click();
		assert.equal(await dialog.getByLabel("Minutes").inputValue(), "15");
		await dialog.getByLabel("Minutes").fill("20");
		await dialog.getByRole("combobox", { name: "Action" }).selectOption("Set the volume");
		await dialog.getByRole("button", { name: "Start timer" }).click();
		await listed(/^Timer: 20 min · All devices · (20|19) min left$/).waitFor();
		await page.getByRole("button", { name: "Cancel Volume 30" }).click();
		await list.getByText("Volume 30").waitFor({ state: "detached" });
	});

	await t.test("shows the latest result of a schedule", async () => {
		const targets = { room: "Kitchen" };
		const payload = { command: "set_volume", value: 33 };
		await call("POST", "/api/schedules", { at: { in: 1 }, do: { command: { targets, payload } } });
		await call("POST", "/api/schedules", {
			at: { in: 1 },
			do: { announcement: { targets, text: "Pizza" } },
		});
		await report(({ peripherals }) => peripherals.audio.volume === 33);
		await page.getByRole("button", { name: "On: Volume 33", pressed: false }).waitFor();
		await listed(/^Done at \d\d:\d\d$/).waitFor();
		await listed(/^Played at \d\d:\d\d/).waitFor();
		await list.getByRole("link", { name: "Results" }).click();
		const article = page.getByRole("article", { name: "Pizza" });
		await article.getByText("1 played").waitFor();
		assert.ok(captured().includes(tone(bytesPerSecond).subarray(0, 1000)), "the announcement was not played");
	});

	await t.test("uses the gateway's time zone, and names it if the browser's differs", async (t) => {
		const elsewhere = timezoneId === "Asia/Tokyo" ? "Asia/Karachi" : "Asia/Tokyo";
		const page = await open(t, url, { view, timezoneId: elsewhere });
		await page.getByText(`Times are those of ${timezoneId}, the gateway's time zone.`).waitFor();
		await page.getByText("Sat 28 Nov 07:30 · All devices").first().waitFor();
	});
});

test("starts a timer and sets quiet hours in four taps from Home on a phone", { skip }, async (t) => {
	const { url } = await setUp(t);
	const page = await open(t, url, { timezoneId, viewport: { width: 390, height: 844 } });
	const tap = (name: string | RegExp) => page.getByRole("button", { name }).click();
	const schedules = page.getByRole("link", { name: "Schedules" });
	await schedules.click();
	await tap("New timer");
	await tap("10 min");
	await tap("Start timer");
	const timers = page.getByRole("list", { name: "Schedules" });
	await timers.getByText(/^Timer: 10 min · All devices · (10|9) min left$/).waitFor();
	await page.getByRole("link", { name: "Home" }).click();
	await schedules.click();
	await tap("Set quiet hours");
	await tap("Save");
	await page
		.getByRole("list", { name: "Quiet hours" })
		.getByText(/^Daily 22:00–07:00 · Volume ≤ 20, ring ≤ 10%/)
		.first()
		.waitFor();
});

test("sets quiet hours from a room; the room and its devices show when they end", {
	skip,
}, async (t) => {
	const { url, report, deviceId } = await setUp(t);
	const page = await open(t, url, { view: "#/rooms/Kitchen", timezoneId });
	await page.getByRole("link", { name: "Quiet hours…" }).click();
	const dialog = page.getByRole("dialog", { name: "Set quiet hours" });
	assert.equal(
		await dialog.getByRole("combobox", { name: "Where" }).locator("option:checked").textContent(),
		"Kitchen (1)",
	);
	const [from = "", until = ""] = [-hourMs, hourMs].map((ms) =>
		localTime(Date.now() + ms, timezoneId).slice(-5),
	);
	await dialog.getByLabel("From").fill(from);
	await dialog.getByLabel("Until").fill(until);
	await dialog.getByLabel("Limit the ring's brightness").uncheck();
	assert.deepEqual(await violations(page), []);
	await dialog.getByRole("button", { name: "Save" }).click();
	const rules = page.getByRole("list", { name: "Quiet hours" });
	const text = `Daily ${from}–${until} · Volume ≤ 20`;
	await rules.getByText(`${text} · Active until ${until}`).first().waitFor();
	assert.deepEqual(await violations(page), []);
	await report(({ quiet }) => quiet?.until !== undefined);

	await page.goto(`${url}/#/rooms/Kitchen`);
	await page
		.getByRole("region", { name: "Kitchen" })
		.getByRole("link", { name: `Quiet until ${until}` })
		.waitFor();
	await page.goto(`${url}/#/devices/${deviceId}`);
	await page.getByRole("link", { name: `Quiet until ${until}` }).waitFor();
	await page.locator(".hero").locator("summary", { hasText: "More" }).click();
	await page.getByRole("link", { name: "Quiet hours…" }).click();
	assert.equal(
		await dialog.getByRole("combobox", { name: "Where" }).locator("option:checked").textContent(),
		deviceId,
	);
	await dialog.getByRole("button", { name: "Cancel" }).click();

	await page.getByRole("button", { name: "On: Kitchen", pressed: true }).click();
	await rules.getByText(`${text} · Off`).first().waitFor();
	await report(({ quiet }) => quiet?.until === undefined);
	await page.goto(`${url}/#/devices/${deviceId}`);
	await page.locator(".light-card").waitFor();
	await page.getByRole("link", { name: /^Quiet until/ }).waitFor({ state: "detached" });
	await page.goto(`${url}/${view}`);
	await page.getByRole("button", { name: "Delete Kitchen" }).click();
	await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
	await rules.getByText(text).first().waitFor({ state: "detached" });
});

/** Opens the page with this role; one device of the gateway has older firmware. */
async function openAs(t: TestContext, role: PersonRole) {
	const dataDir = await temporaryDirectory(t);
	const token = "a-token-of-the-lobby-screen";
	const named = [{ name: "lobby-screen", role, token }] as const;
	await writeTokenFile(fs, tokenPath(dataDir), { ...generateTokens(), named });
	const { url } = await runGateway(t, { dataDir });
	const device = await new ScriptedDevice({ url, deviceId: "dev-1-000001", features: ["sound"] }).connect();
	t.after(() => device.close());
	const page = await open(t, url, {
		view,
		prepare: async (context) => {
			await context.clearCookies();
			await context.request.post(`${url}/login`, { form: { token }, maxRedirects: 0 });
		},
	});
	await page.getByText("1 device must be updated to support quiet hours.").waitFor();
	return (name: string, disabled: boolean) => page.getByRole("button", { name, disabled }).waitFor();
}

test("shows schedules to a viewer without controls", { skip }, async (t) => {
	const hasButton = await openAs(t, "viewer");
	for (const name of ["New schedule", "New timer", "Set quiet hours"]) await hasButton(name, true);
});

test("lets a user create schedules and see quiet hours", { skip }, async (t) => {
	const hasButton = await openAs(t, "user");
	await hasButton("New schedule", false);
	await hasButton("Set quiet hours", true);
});

test("hides the schedules view if the gateway has no schedules, and explains it at its address", {
	skip,
}, async (t) => {
	const { url } = await runGateway(t, {
		extensions: extensions.filter((each) => each !== createSchedules),
	});
	const page = await open(t, url, { view, expected: /404/ });
	await page.getByText("Schedules are disabled on this gateway.").waitFor();
	assert.equal(await page.getByRole("link", { name: "Schedules" }).count(), 0);
});
