/** A person rolls a release out to a fleet, in which some updates fail, and watches it on two pages. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { call } from "../support/call.js";
import { skip } from "../support/chromium.js";
import { eventually } from "../support/eventually.js";
import {
	getRollout,
	postRolloutAction,
	putRollout,
	quickPlan,
	rolloutIds,
	runReleasedFleet,
} from "../support/released-fleet.js";
import { writeReleases } from "../support/releases.js";
import { checkView } from "./axe.js";
import { browsing, gatewayAway, sees } from "./browsing.js";

const open = browsing();
/** Console message of Chromium for a rejected request. */
const expected = /status of 4(04|09|12|22)/;
const form = (page: Page) => page.getByRole("dialog", { name: "New rollout" });
/** State of a rollout on its page. */
const state = (page: Page, words: string) => page.getByRole("status").getByText(words);
const button = (page: Page, name: string) =>
	page.getByRole("main").getByRole("button", { name, exact: true });

test("a rollout with failures", { skip }, async (t) => {
	const { url, fleet, stopGateway } = await runReleasedFleet(
		t,
		Array.from({ length: 24 }, () => ({ ending: "waits" as const })),
	);
	for (const index of [0, 1, 2, 3])
		await call(url, "PATCH", `devices/dev-1-00000${index}`, { room: "Lobby", name: `Speaker ${index}` });
	const openPage = (view: string) => open(t, url, { view, expected });
	const page = await openPage("");
	let id = "";

	await t.test("is planned in three clicks for all devices, without violations", async () => {
		await page.getByRole("link", { name: "Firmware" }).click();
		await page.getByRole("button", { name: "New rollout" }).click();
		const firmware = form(page).getByRole("combobox", { name: "Firmware" });
		assert.match(await firmware.innerText(), /^1\.4\.0 · latest/);
		await form(page).getByLabel("Include new devices").waitFor();
		await sees(form(page), "First 5 devices, 5 at a time, pauses after 2 failures; then the rest");
		await form(page).getByRole("button", { name: "Update 24 devices" }).waitFor();
		await checkView(page);
	});

	await t.test("is limited to a room, previewed and customized; an invalid option is rejected", async () => {
		await form(page).getByRole("combobox", { name: "Devices" }).selectOption("Lobby (4)");
		await form(page).getByRole("status").filter({ hasText: "4 devices in Lobby" }).waitFor();
		await form(page).getByRole("radio", { name: "Custom" }).check();
		await form(page).getByLabel("Then at a time").fill("0");
		await sees(form(page), /^Then at a time must be/);
		assert.equal(
			await form(page)
				.getByRole("button", { name: /^Update/ })
				.isDisabled(),
			true,
		);
		for (const [label, value] of [
			["First group", "3"],
			["Pause after", "2"],
			["Then at a time", "7"],
			["Pause the rest after", "25%"],
			["Watch each for", "0"],
			["Attempts", "1"],
			["Don't start after", "2036-11-30T20:00"],
		] as const)
			await form(page).getByLabel(label, { exact: true }).fill(value);
		await form(page).getByLabel("Approve before continuing").check();
		await checkView(page);
		await form(page).getByRole("button", { name: "Update 4 devices" }).click();
		await page.getByRole("heading", { level: 1, name: "Rollout of 1.4.0" }).waitFor();
		[id = ""] = await rolloutIds(url);
		const { plan } = await getRollout(url, id);
		assert.deepEqual(
			[plan.target, plan.maxAttempts, plan.deadline],
			[
				{ devices: fleet.slice(0, 4).map(({ deviceId }) => deviceId) },
				1,
				new Date("2036-11-30T20:00").toISOString(),
			],
		);
		assert.deepEqual(
			plan.groups.map(({ size, concurrency, errorThreshold, approval, soakSeconds }) => [
				size,
				concurrency,
				errorThreshold.count ?? `${errorThreshold.percent} %`,
				approval,
				soakSeconds,
			]),
			[
				[3, 5, 2, false, 0],
				["rest", 7, "25 %", true, 0],
			],
		);
	});

	const other = await openPage(`#/firmware/${id}`);
	await t.test("runs alike on two pages, after a reload and through an outage", async () => {
		for (const device of fleet.slice(0, 3)) await device.offered;
		for (const shown of [page, other]) await button(shown, "3 updating").waitFor();
		await button(other, "Pause").click();
		await state(page, "Paused").waitFor();
		await button(page, "Resume").click();
		await state(other, "Running").waitFor();
		const startAgain = await stopGateway();
		await gatewayAway(page).waitFor();
		for (const name of ["Pause", "Cancel"]) assert.equal(await button(page, name).isDisabled(), true);
		await startAgain();
		for (const device of fleet) await device.connect();
		await fleet[0]?.finish("updates");
		await page.reload();
		await button(page, "1 updated").waitFor();
		await checkView(page);
	});

	await t.test("pauses after failures, names the devices and the reasons, and is an issue", async () => {
		await fleet[1]?.finish("rolls back");
		await fleet[2]?.finish("fails");
		for (const shown of [page, other]) await state(shown, "Paused: too many failures").waitFor();
		await button(page, "2 failed").click();
		const reasons = page.getByRole("list", { name: "Failed devices" });
		await reasons.getByRole("link", { name: "Speaker 1" }).waitFor();
		await reasons.getByText(/HTTP connection failed/).waitFor();
		const bar = page.getByRole("progressbar", { name: "Devices" });
		assert.equal(await bar.getAttribute("aria-valuetext"), "1 updated, 2 failed, 1 waiting");
		await checkView(page);
		await other
			.getByRole("link", { name: /^Issues/ })
			.first()
			.click();
		await other
			.getByRole("listitem")
			.filter({ hasText: "Rollout of 1.4.0 paused" })
			.getByRole("link")
			.click();
		await state(other, "Paused: too many failures").waitFor();
	});

	await t.test("retries what failed, waits for approval, and finishes", async () => {
		await button(page, "Retry 2 failed").click();
		const countOffers = () => fleet.reduce((offers, { commands }) => offers + commands.length, 0);
		await eventually(countOffers, (offers) => offers === 5);
		for (const index of [1, 2]) await fleet[index]?.finish("updates");
		await page.getByText("Group 2 waits for approval.").waitFor();
		await button(page, "Approve next group").click();
		await fleet[3]?.offered;
		await fleet[3]?.finish("updates");
		await state(page, "Finished 4 of 4 devices").waitFor();
		await page.getByRole("link", { name: "Firmware" }).first().click();
		await sees(page.getByRole("region", { name: "Rollouts" }), /Finished/);
		await checkView(page);
	});

	await t.test("shows what repeats, what waits for that, and what is still watched", async () => {
		const target = { devices: fleet.slice(4, 6).map(({ deviceId }) => deviceId) };
		const groups = [{ size: "rest", concurrency: 1, soakSeconds: 3600 }];
		await putRollout(url, "watched", quickPlan({ target, groups }));
		await page.goto(`${url}/#/firmware/watched`);
		await fleet[4]?.offered;
		await fleet[4]?.finish("fails");
		await page
			.getByRole("main")
			.getByRole("button", { name: /^1 retrying at/ })
			.click();
		await sees(page.getByRole("list", { name: "Retrying devices" }), /HTTP connection failed/);
		await fleet[5]?.offered;
		await fleet[5]?.finish("updates");
		await sees(page, /^1 device runs 1\.4\.0, watched for another/);
		await postRolloutAction(url, "watched", "cancel");
	});

	await t.test("is canceled and deleted only after confirmation", async () => {
		await putRollout(url, "autumn", quickPlan({ target: { devices: [fleet[6]?.deviceId ?? ""] } }));
		await page.goto(`${url}/#/firmware/autumn`);
		await state(page, "Running").waitFor();
		await button(page, "Cancel").click();
		const dialog = page.getByRole("dialog", { name: "Cancel the rollout of 1.4.0?" });
		await checkView(page);
		await dialog.getByRole("button", { name: "Keep it running" }).click();
		assert.equal((await getRollout(url, "autumn")).status, "running");
		await button(page, "Cancel").click();
		await dialog.getByRole("button", { name: "Cancel rollout" }).click();
		await fleet[6]?.finish("updates");
		await state(page, "Canceled 1 of 1 device").waitFor();
		await button(page, "Delete").click();
		await page.getByRole("dialog").getByRole("button", { name: "Delete record" }).click();
		await page.getByRole("heading", { level: 1, name: "Firmware" }).waitFor();
		assert.equal((await rolloutIds(url)).includes("autumn"), false);
	});
});

test("a channel for devices with tags, and updates that are due", { skip }, async (t) => {
	const { url, fleet, releasesDir } = await runReleasedFleet(t, [
		{},
		{},
		{ deviceId: "proto-1-000000", model: "PROTO-1" },
	]);
	const release = (version: string, channel?: string) =>
		(["DEV-1", "PROTO-1"] as const).map((model) => ({
			version,
			model,
			chip: "esp32s3" as const,
			...(channel !== undefined && { channel }),
		}));
	await writeReleases(
		releasesDir,
		[...release("1.4.0"), ...release("1.5.0", "beta")],
		"1.4.0",
		"Fewer drop-outs.",
	);
	const tag = (deviceId: string) => call(url, "PATCH", `devices/${deviceId}`, { tags: ["shop"] });
	for (const deviceId of ["dev-1-000000", "proto-1-000000"]) await tag(deviceId);
	const page = await open(t, url, { view: "#/issues", expected });
	const due = page.getByRole("list", { name: "Updates" }).getByRole("listitem");

	await t.test("leads from one row for both models to a plan for both", async () => {
		await due.filter({ hasText: "3 of 3 devices · Fewer drop-outs." }).waitFor();
		await checkView(page);
		await due.getByRole("link", { name: "Update…" }).click();
		await form(page).getByText("One after another; pauses at the first failure.").waitFor();
		await form(page).getByRole("button", { name: "Update 3 devices" }).waitFor();
		await page.keyboard.press("Escape");
		await form(page).waitFor({ state: "detached" });
	});

	await t.test("includes devices that get the tag, and releases of the channel, later", async () => {
		await page.goto(`${url}/#/firmware?new`);
		await form(page).getByRole("combobox", { name: "Firmware" }).selectOption("channel beta");
		await form(page).getByRole("combobox", { name: "Devices" }).selectOption("Devices with tags…");
		const tags = form(page).getByRole("textbox", { name: "Tags" });
		await tags.fill("shop and");
		await sees(form(page), /At the end: write a tag/);
		await tags.fill("shop and not test");
		await form(page).getByLabel("Include new devices and new releases of beta").check();
		await form(page).getByRole("radio", { name: "Custom" }).check();
		await form(page).getByLabel("Watch each for").fill("0");
		await form(page).getByRole("button", { name: "Update 2 devices" }).click();
		await state(page, "Waiting for new devices 2 of 2 devices").waitFor();
		await tag("dev-1-000001");
		await state(page, "3 of 3 devices").waitFor();
		await writeReleases(releasesDir, [
			...release("1.4.0"),
			...release("1.5.0", "beta"),
			...release("1.6.0", "beta"),
		]);
		await page.getByRole("heading", { level: 1, name: "Rollout of 1.6.0" }).waitFor();
		await state(page, "3 of 3 devices").waitFor();
		for (const { commands } of fleet) assert.equal(commands.length, 2);
	});
});
