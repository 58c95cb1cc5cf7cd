import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { skip } from "../support/chromium.js";
import { eventually, waitUntil } from "../support/eventually.js";
import {
	getRollout,
	getSteps,
	postRolloutAction,
	putRollout,
	quickPlan,
	rolloutIds,
	runReleasedFleet,
} from "../support/released-fleet.js";
import { writeReleases } from "../support/releases.js";
import { bearer, monitorToken } from "../support/running.js";
import type { ScriptedDeviceOptions, UpdateOutcome } from "../support/scripted-device.js";
import { browsing, gatewayAway } from "./browsing.js";

const open = browsing();

/** Console message of Chromium for a rejected request. */
const refused = /status of 4(09|12|22)/;

async function setUp(
	t: TestContext,
	devices: readonly Partial<ScriptedDeviceOptions>[],
	view = "#/firmware/autumn",
) {
	const released = await runReleasedFleet(t, devices);
	const openPage = () => open(t, released.url, { view, expected: refused });
	return { ...released, openPage, page: await openPage() };
}

/** Opens the form of a new rollout. */
function setUpForm(t: TestContext, devices: readonly Partial<ScriptedDeviceOptions>[]) {
	return setUp(t, devices, "#/firmware?new");
}

function some(count: number, ending: UpdateOutcome) {
	return Array.from({ length: count }, () => ({ ending }) as const);
}

const form = (page: Page) => page.getByRole("dialog", { name: "New rollout" });
const preview = (page: Page, words: string) => form(page).getByRole("status").filter({ hasText: words });
/** Page of a rollout. */
const rollout = (page: Page) => page.locator("main");
const state = (page: Page, words: string) => rollout(page).getByRole("status").getByText(words);

/** Performs an action as another page would. */
async function changeDevice(url: string, deviceId: string, change: object): Promise<void> {
	const headers = { ...bearer(monitorToken), "Content-Type": "application/json" };
	const body = JSON.stringify(change);
	await fetch(`${url}/api/devices/${deviceId}`, { method: "PATCH", headers, body });
}

/** @param place horizontal position, 0 to 1 */
function pixelOf(page: Page, image: Buffer, place: number): Promise<readonly number[]> {
	return page.evaluate(`(async () => {
		const image = new Image();
		image.src = "data:image/png;base64,${image.toString("base64")}";
		await image.decode();
		const canvas = document.createElement("canvas");
		[canvas.width, canvas.height] = [image.width, image.height];
		const context = canvas.getContext("2d");
		context.drawImage(image, 0, 0);
		return [...context.getImageData(image.width * ${place}, image.height / 2, 1, 1).data];
	})()`);
}

function rolloutIs(url: string, status: string) {
	return eventually(
		() => getRollout(url, "autumn"),
		(rollout) => rollout.status === status,
	);
}

/** Shows a step of the form. */
async function goTo(page: Page, step: "What" | "Who" | "How careful"): Promise<void> {
	await form(page).getByRole("button", { name: step }).click();
}

/** Shows the fields of a custom rollout. */
async function customize(page: Page): Promise<void> {
	await goTo(page, "How careful");
	await form(page).getByRole("radio", { name: "Custom" }).check();
}

/** Starts a rollout from the form to devices that succeed once they reconnect. */
async function start(page: Page, button: string): Promise<void> {
	await customize(page);
	await form(page).getByLabel("Soak time").fill("0");
	await form(page).getByRole("button", { name: button }).click();
}

describe("new rollout", { skip }, () => {
	test("opens from the firmware view, and its start opens the page of the rollout", async (t) => {
		const { page, url, fleet } = await setUp(t, some(21, "waits"), "");
		await page.getByText("21 of 21 connected").waitFor();
		let taps = 0;
		const tap = async (role: "link" | "button", name: string) => {
			await page.getByRole(role, { name, exact: true }).click();
			taps += 1;
		};
		await tap("link", "Firmware");
		await tap("button", "New rollout");
		await tap("button", "Next");
		await tap("button", "Next");
		await form(page)
			.getByText("First 5 devices, 5 at a time, pauses after 2 failures; then the rest")
			.waitFor();
		await tap("button", "Update 21 devices");
		await page.getByRole("heading", { level: 1, name: "Rollout of 1.4.0" }).waitFor();
		assert.equal(taps, 5);
		await state(page, "Running").waitFor();
		const [id = ""] = await rolloutIds(url);
		assert.equal(page.url(), `${url}/#/firmware/${id}`);
		await fleet[0]?.offered;
		await rollout(page).getByRole("button", { name: "5 updating" }).waitFor();
		await page.getByRole("progressbar", { name: "Rollout", exact: true }).waitFor();
		await rollout(page).getByRole("link", { name: "Firmware" }).click();
		const rows = page.getByRole("region", { name: "Rollouts" });
		await rows.getByRole("link", { name: /1\.4\.0 to all devices.*Running.*0 of 21 devices/ }).click();
		await rollout(page).getByRole("button", { name: "16 waiting" }).waitFor();
		await waitUntil(async () => (await page.title()) === "Rollout of 1.4.0 · Device gateway");
		await page.goBack();
		await rows.waitFor();
		await waitUntil(async () => (await page.title()) === "Firmware · Device gateway");
	});

	test("previews its effect, and updates all outdated devices of a model", async (t) => {
		const { page, fleet } = await setUpForm(t, [
			...some(3, "updates"),
			{ version: "1.4.0" },
			{ version: "2.0.0" },
			{ deviceId: "proto-1-000000", model: "PROTO-1" },
		]);
		await preview(page, "5 devices, 1 already up to date, 1 with a newer version").waitFor();
		await start(page, "Update 3 devices");
		await state(page, "Finished, 1 rejected 5 of 5 devices").waitFor();
		await rollout(page).getByRole("button", { name: "3 updated" }).waitFor();
		await rollout(page).getByRole("button", { name: "1 already up to date" }).waitFor();
		assert.deepEqual(
			fleet.map(({ commands }) => commands.length),
			[1, 1, 1, 0, 0, 0],
		);
	});

	test("previews and performs the update of selected devices by kind", async (t) => {
		const { page, fleet } = await setUpForm(t, [
			{},
			{},
			{ version: "1.4.0" },
			{ version: "2.0.0" },
			{ deviceId: "dev-1-000004", model: "PROTO-1" },
		]);
		fleet[1]?.close();
		await goTo(page, "Who");
		await form(page).getByRole("link", { name: "fleet" }).click();
		await page.getByText("4 of 5 connected").waitFor();
		await page.getByRole("button", { name: "Select all 5" }).click();
		await page.getByText("5 selected").waitFor();
		await page.getByLabel("Select dev-1-000001").uncheck();
		await page.getByText("4 selected").waitFor();
		await page.getByRole("link", { name: "Update…" }).click();
		await preview(
			page,
			"4 devices, 1 already up to date, 1 with a newer version, 1 without an image",
		).waitFor();
		await customize(page);
		await form(page).getByLabel("Allow downgrades").check();
		await preview(page, "1 would be downgraded").waitFor();
		await form(page).getByLabel("Soak time").fill("0");
		await form(page).getByRole("button", { name: "Update 2 devices" }).click();
		await state(page, "Finished, 1 rejected 4 of 4 devices").waitFor();
		assert.deepEqual(
			fleet.map(({ commands }) => commands.length),
			[1, 0, 0, 1, 0],
		);
	});

	test("updates the devices of a room, all at once, or first one that is approved", async (t) => {
		const { page, url } = await setUpForm(t, some(3, "waits"));
		for (const deviceId of ["dev-1-000001", "dev-1-000002"])
			await changeDevice(url, deviceId, { room: "Lobby" });
		await goTo(page, "Who");
		await form(page).getByRole("radio", { name: "A room" }).check();
		await form(page).getByRole("combobox", { name: "Room" }).waitFor();
		await goTo(page, "How careful");
		await form(page).getByRole("radio", { name: "Careful" }).check();
		await form(page)
			.getByText("First 1 device, 5 at a time, pauses after 1 failure; then the rest")
			.waitFor();
		await form(page).getByRole("radio", { name: "All at once" }).check();
		await form(page).getByText("The rest, all at once, pauses at 10% failures").waitFor();
		await preview(page, "2 devices in Lobby").waitFor();
		await form(page).getByRole("button", { name: "Update 2 devices" }).click();
		await state(page, "Running").waitFor();
		const [id = ""] = await rolloutIds(url);
		const { plan } = await getRollout(url, id);
		assert.deepEqual(plan.target, { devices: ["dev-1-000001", "dev-1-000002"] });
	});

	test("shows which option the gateway rejects, and starts once it is corrected", async (t) => {
		const { page } = await setUpForm(t, some(1, "waits"));
		await customize(page);
		await form(page).getByLabel("Then at a time").fill("0");
		await form(page)
			.getByText(/^Then at a time must be/)
			.waitFor();
		assert.equal(
			await form(page)
				.getByRole("button", { name: /^Update/ })
				.isDisabled(),
			true,
		);
		await form(page).getByLabel("Then at a time").fill("3");
		await form(page).getByText("3 at a time").waitFor();
		await form(page).getByRole("button", { name: "Update 1 device" }).click();
		await state(page, "Running").waitFor();
	});

	test("is one sentence for few devices", async (t) => {
		const { page, url, fleet } = await setUpForm(t, some(3, "waits"));
		await goTo(page, "How careful");
		await form(page).getByText("One after another; pauses at the first failure.").waitFor();
		await form(page).getByRole("button", { name: "Update 3 devices" }).click();
		await state(page, "Running").waitFor();
		await fleet[0]?.offered;
		await fleet[0]?.finish("rolls back");
		await state(page, "Paused: too many failures").waitFor();
		const [id = ""] = await rolloutIds(url);
		const { counts } = await getRollout(url, id);
		assert.deepEqual([counts.rolled_back, counts.queued], [1, 2]);
	});

	test("shows the gateway's defaults and soak time as placeholders", async (t) => {
		const { page } = await setUpForm(t, some(21, "waits"));
		await customize(page);
		await form(page).getByText("each is watched for 3 min before it counts as updated").waitFor();
		for (const [label, value] of [
			["First group", "5"],
			["Pause after", "2"],
			["Then at a time", "20"],
			["Pause the rest after", "10%"],
			["Soak time", "180"],
			["Attempts", "2"],
		] as const)
			assert.equal(await form(page).getByLabel(label, { exact: true }).getAttribute("placeholder"), value);
	});

	test("shows no number of devices before they are counted", async (t) => {
		const { page } = await setUpForm(t, some(1, "waits"));
		let goOn = () => {};
		const counted = new Promise<void>((resolve) => {
			goOn = resolve;
		});
		await page.route("**/api/rollouts/preview", async (route) => {
			await counted;
			await route.continue().catch(() => {});
		});
		await page.reload();
		await preview(page, "Counting the devices…").waitFor();
		await goTo(page, "How careful");
		await form(page).getByRole("button", { name: "Update", exact: true, disabled: true }).waitFor();
		goOn();
		await form(page).getByRole("button", { name: "Update 1 device" }).waitFor();
	});

	test("sends every option", async (t) => {
		const { page, url } = await setUpForm(t, some(1, "waits"));
		await goTo(page, "Who");
		await form(page).getByRole("radio", { name: "All DEV-1" }).check();
		await form(page).getByLabel("Include new devices").check();
		await customize(page);
		for (const [label, value] of [
			["First group", "10%"],
			["Pause after", "3"],
			["Then at a time", "7"],
			["Pause the rest after", "25%"],
			["Soak time", "60"],
			["Attempts", "4"],
			["Start at", "2036-11-22T20:00"],
			["Don't start after", "2036-11-30T20:00"],
			["Daily from", "22:00"],
			["Daily to", "05:30"],
		] as const)
			await form(page).getByLabel(label, { exact: true }).fill(value);
		for (const label of ["Approve before continuing", "Mon", "Sat"])
			await form(page).getByLabel(label).check();
		await form(page).getByRole("button", { name: "Update 1 device" }).click();
		await state(page, "Scheduled").waitFor();
		const [id = ""] = await rolloutIds(url);
		const { plan } = await getRollout(url, id);
		const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
		assert.deepEqual(
			plan.groups.map(({ size, concurrency, errorThreshold, approval, soakSeconds }) => [
				size,
				concurrency,
				errorThreshold.count ?? `${errorThreshold.percent} %`,
				approval,
				soakSeconds,
			]),
			[
				["10%", 5, 3, false, 60],
				["rest", 7, "25 %", true, 60],
			],
		);
		assert.deepEqual(
			[plan.maxAttempts, plan.startsAt, plan.deadline],
			[4, new Date("2036-11-22T20:00").toISOString(), new Date("2036-11-30T20:00").toISOString()],
		);
		assert.deepEqual(plan.window, { days: ["mon", "sat"], from: "22:00", to: "05:30", timeZone });
		assert.deepEqual([plan.target, plan.standing], [{ model: "DEV-1" }, true]);
	});

	test("can follow a channel for devices with tags", async (t) => {
		const { page, url, fleet, releasesDir } = await setUpForm(t, [
			...some(2, "updates"),
			{ deviceId: "proto-1-000000", model: "PROTO-1", ending: "updates" },
		]);
		const release = (version: string, channel?: string) =>
			(["DEV-1", "PROTO-1"] as const).map((model) => ({
				version,
				model,
				chip: "esp32s3" as const,
				...(channel !== undefined && { channel }),
			}));
		await writeReleases(releasesDir, [...release("1.4.0"), ...release("1.5.0", "beta")]);
		for (const deviceId of ["dev-1-000000", "proto-1-000000"])
			await changeDevice(url, deviceId, { tags: ["shop", "lab"] });
		await form(page)
			.getByRole("radio", { name: /^Channel beta Newest release, now 1\.5\.0/ })
			.check();
		await goTo(page, "Who");
		await form(page).getByRole("radio", { name: "All devices 3 devices" }).check();
		const tags = form(page).getByRole("textbox", { name: "Tags" });
		await form(page)
			.getByRole("list", { name: "Tags in use" })
			.getByRole("button", { name: "lab" })
			.waitFor();
		await tags.fill("shop and");
		await form(page)
			.getByText(/Tags is not a valid tag expression\. At the end: write a tag/)
			.waitFor();
		assert.equal(await tags.getAttribute("aria-invalid"), "true");
		await tags.fill("shop and not test");
		await form(page).getByLabel("Include new devices and new releases of beta").check();
		await goTo(page, "How careful");
		await form(page).getByText("includes new devices and new releases of beta").waitFor();
		await start(page, "Update 2 devices");
		await rollout(page).getByText("Of beta to all with shop and not test").waitFor();
		await state(page, "Waiting for new devices 2 of 2 devices").waitFor();
		await rollout(page).getByText("Includes new devices and new releases of beta.").waitFor();
		await changeDevice(url, "dev-1-000001", { tags: ["shop"] });
		await state(page, "3 of 3 devices").waitFor();
		await writeReleases(releasesDir, [
			...release("1.4.0"),
			...release("1.5.0", "beta"),
			...release("1.6.0", "beta"),
		]);
		await page.getByRole("heading", { level: 1, name: "Rollout of 1.6.0" }).waitFor();
		await state(page, "3 of 3 devices").waitFor();
		for (const { commands } of fleet)
			assert.equal(commands.filter(({ command }) => command === "start_ota").length, 2);
	});
});

describe("available update", { skip }, () => {
	/** Starts devices of both models and a release with notes; the last device runs the release. */
	async function setUpBoth(t: TestContext, devices: readonly Partial<ScriptedDeviceOptions>[]) {
		const released = await runReleasedFleet(t, [...devices, { version: "1.4.0" }]);
		await writeReleases(
			released.releasesDir,
			(["DEV-1", "PROTO-1"] as const).map((model) => ({ version: "1.4.0", model, chip: "esp32s3" })),
			"1.4.0",
			"Fewer drop-outs.",
		);
		return { ...released, page: await open(t, released.url) };
	}

	const due = (page: Page) => page.getByRole("list", { name: "Updates" }).getByRole("listitem");

	test("is shown in rows and on the device's page, and can be filtered by", async (t) => {
		const { page } = await setUpBoth(t, [{}, { deviceId: "proto-1-000001", model: "PROTO-1" }]);
		const link = page.getByRole("link", { name: "Update to 1.4.0" });
		await link.nth(1).waitFor();
		assert.equal(await link.count(), 2);
		await page.getByRole("button", { name: "Filter" }).click();
		await page.getByRole("combobox", { name: "State" }).selectOption("Update available");
		await page.getByText("2 of 3 devices").waitFor();
		await page.getByRole("button", { name: "Update available: 2" }).waitFor();
		await page.getByRole("button", { name: "Table" }).click();
		await page.getByRole("link", { name: "Update dev-1-000000 to 1.4.0" }).waitFor();
		await page.getByRole("link", { name: "proto-1-000001", exact: true }).click();
		await page.getByRole("heading", { level: 1, name: "proto-1-000001" }).waitFor();
		await link.click();
		await page.getByRole("region", { name: "Firmware" }).getByRole("button", { name: "Update" }).waitFor();
	});

	test("is one row for two models, and leads to one plan for both", async (t) => {
		const { page, url, fleet } = await setUpBoth(t, [
			{ ending: "waits" },
			{ deviceId: "proto-1-000001", model: "PROTO-1", ending: "waits" },
		]);
		// A standing rollout for other devices does not replace the button.
		await putRollout(url, "lab", { ...quickPlan(), target: { tags: "lab" }, standing: true });
		await page.getByRole("link", { name: "Issues", exact: true }).click();
		await page.getByText("All good").waitFor();
		await due(page).filter({ hasText: "Update to 1.4.02 of 3 devices · Fewer drop-outs." }).waitFor();
		await due(page).getByRole("link", { name: "Update…" }).click();
		await form(page).getByText("One after another; pauses at the first failure.").waitFor();
		await form(page).getByRole("button", { name: "Update 2 devices" }).click();
		await state(page, "Running").waitFor();
		await page.getByRole("link", { name: "Issues", exact: true }).click();
		await due(page).getByText("Running").waitFor();
		const [id = "", ...others] = await rolloutIds(url);
		assert.deepEqual(others, ["lab"]);
		const { plan } = await getRollout(url, id);
		assert.deepEqual(plan.target, { devices: ["dev-1-000000", "proto-1-000001"] });
		assert.deepEqual(
			plan.groups.map(({ size, concurrency, errorThreshold: { count } }) => [size, concurrency, count]),
			[["rest", 1, 1]],
		);
		await fleet[0]?.offered;
		await postRolloutAction(url, id, "cancel");
		await fleet[0]?.finish("updates");
		await due(page).getByRole("link", { name: "1 of 3 devices" }).waitFor();
		await due(page).getByRole("link", { name: "Update…" }).click();
		await form(page).getByRole("button", { name: "Update 1 device" }).click();
		await fleet[1]?.offered;
		await fleet[1]?.finish("updates");
		await page.getByRole("link", { name: "Issues", exact: true }).click();
		await due(page).waitFor({ state: "detached" });
	});
});

describe("rollout", { skip }, () => {
	test("is the same on two pages and after a reload, and continues without an open page", async (t) => {
		const { page, url, fleet, openPage } = await setUp(t, some(3, "waits"));
		const groups = [
			{ size: 1, soakSeconds: 0 },
			{ size: "rest", soakSeconds: 0 },
		];
		await putRollout(url, "autumn", quickPlan({ groups }));
		const other = await openPage();
		for (const each of [page, other]) {
			await state(each, "Running").waitFor();
			await rollout(each).getByRole("button", { name: "1 updating" }).waitFor();
			await rollout(each).getByRole("button", { name: "2 waiting" }).waitFor();
		}
		await page.reload();
		await rollout(page).getByRole("button", { name: "1 updating" }).waitFor();
		await rollout(other).getByRole("button", { name: "Pause" }).click();
		await state(page, "Paused").waitFor();
		await rollout(page).getByRole("button", { name: "Resume" }).click();
		await state(other, "Running").waitFor();
		await page.close();
		await other.close();
		for (const device of fleet) {
			await device.offered;
			await device.finish("updates");
		}
		await rolloutIs(url, "finished");
		const later = await openPage();
		await state(later, "Finished 3 of 3 devices").waitFor();
	});

	test("shows the remaining soak time, also on a page opened later", async (t) => {
		const { page, url, fleet, openPage } = await setUp(t, some(1, "waits"));
		const groups = [{ size: "rest", soakSeconds: 3600 }];
		await putRollout(url, "autumn", quickPlan({ groups }));
		await rollout(page).getByRole("button", { name: "1 updating" }).waitFor();
		await fleet[0]?.finish("updates");
		const words = /^1 device runs 1\.4\.0, watched for another (1 h 0 min|59 min \d+ s)\.$/;
		await rollout(page).getByText(words).waitFor();
		await rollout(page)
			.getByText(/another 59 min/)
			.waitFor();
		const later = await openPage();
		await rollout(later)
			.getByText(/another 59 min/)
			.waitFor();
	});

	test("shows why failures paused it, in red, and resumes on a click", async (t) => {
		const { page, url, fleet } = await setUp(t, [...some(1, "updates"), ...some(3, "rolls back")]);
		const groups = [
			{ size: 4, concurrency: 1, soakSeconds: 0 },
			{ size: "rest", soakSeconds: 0 },
		];
		await putRollout(url, "autumn", quickPlan({ groups }));
		await state(page, "Paused: too many failures").waitFor();
		await rollout(page)
			.getByRole("list", { name: "Devices" })
			.getByText("Rolled back: The device reverted")
			.first()
			.waitFor();
		await rollout(page).getByRole("button", { name: "2 failed", exact: true }).click();
		const reasons = rollout(page).getByRole("list", { name: "Failed devices" });
		await reasons
			.getByText("Rolled back: The device reverted to 1.2.3; the new firmware ended: crashed")
			.first()
			.waitFor();
		assert.equal(await reasons.getByRole("listitem").count(), 2);
		await changeDevice(url, "dev-1-000002", { name: "Lobby speaker" });
		await reasons.getByRole("link", { name: "Lobby speaker" }).waitFor();
		const bar = rollout(page).getByRole("progressbar", { name: "Devices" });
		assert.equal(await bar.getAttribute("aria-valuetext"), "1 updated, 2 failed, 1 waiting");
		const image = await bar.screenshot();
		const [red = 255, green = 0] = await pixelOf(page, image, 0.1);
		assert.ok(green - red > 60, `what is updated is green: ${[red, green]}`);
		const [red2 = 0, green2 = 255] = await pixelOf(page, image, 0.5);
		assert.ok(red2 - green2 > 60, `what failed is red: ${[red2, green2]}`);
		assert.equal(fleet.filter(({ commands }) => commands.length > 0).length, 3);
		await rollout(page).getByRole("button", { name: "Retry 2 failed" }).click();
		// In random order, as devices that reconnected begin after random delays.
		await eventually(
			() => fleet.reduce((offers, { commands }) => offers + commands.length, 0),
			(offers) => offers === 5,
		);
		await rolloutIs(url, "paused");
		await state(page, "Paused: too many failures").waitFor();
	});

	test("shows when it repeats a failed attempt, and which devices wait for that", async (t) => {
		const { page, url, fleet } = await setUp(t, some(3, "waits"));
		const groups = [{ size: "rest", concurrency: 1, soakSeconds: 0 }];
		await putRollout(url, "autumn", quickPlan({ groups }));
		await fleet[0]?.offered;
		await fleet[0]?.finish("fails");
		const retrying = rollout(page).getByRole("button", { name: /^1 retrying at \d\d:\d\d$/ });
		await retrying.waitFor();
		await fleet[1]?.offered;
		await rollout(page).getByRole("button", { name: "1 waiting" }).waitFor();
		await retrying.click();
		const devices = rollout(page).getByRole("list", { name: "Retrying devices" });
		await devices.getByText(/^Retrying at \d\d:\d\d: HTTP connection failed \(-1\)\.$/).waitFor();
		assert.deepEqual(await devices.getByRole("link").allTextContents(), ["dev-1-000000"]);
	});

	test("waits for approval, and is canceled only after confirmation", async (t) => {
		const { page, url, fleet } = await setUp(t, some(3, "updates"));
		const groups = [
			{ size: 1, soakSeconds: 0 },
			{ size: 1, soakSeconds: 0, approval: true },
			{ size: "rest", soakSeconds: 0, approval: true },
		];
		await putRollout(url, "autumn", quickPlan({ groups }));
		await rollout(page).getByText("Group 2 waits for approval.").waitFor();
		await rollout(page).getByRole("button", { name: "Approve next group" }).click();
		await rollout(page).getByText("Group 3 waits for approval.").waitFor();
		await rollout(page).getByRole("button", { name: "Cancel" }).click();
		const dialog = page.getByRole("dialog", { name: "Cancel the rollout of 1.4.0?" });
		await dialog.getByText("1 device will not be updated.").waitFor();
		// "Cancel" would be ambiguous here; the two buttons look different.
		await dialog.getByRole("button", { name: "Keep it running" }).waitFor();
		const colors =
			"[...document.querySelectorAll('dialog[open] button')].map((button) => getComputedStyle(button).color)";
		assert.equal(new Set(await page.evaluate<string[]>(colors)).size, 2);
		await dialog.getByRole("button", { name: "Cancel rollout" }).click();
		await state(page, "Canceled 3 of 3 devices").waitFor();
		await rollout(page).getByRole("button", { name: "1 not started" }).click();
		await rollout(page).getByRole("list", { name: "Not started devices" }).getByRole("link").waitFor();
		assert.equal(fleet.filter(({ commands }) => commands.length > 0).length, 2);
		await rollout(page).getByRole("button", { name: "Delete" }).click();
		await page.getByRole("dialog").getByRole("button", { name: "Delete record" }).click();
		await page.getByRole("heading", { level: 1, name: "Firmware" }).waitFor();
		assert.deepEqual(await rolloutIds(url), []);
	});

	test("is not changed if another person has just changed it", async (t) => {
		const { page, url } = await setUp(t, some(1, "waits"));
		await putRollout(url, "autumn");
		await state(page, "Running").waitFor();
		await page.route("**/api/rollouts/autumn/pause", async (route) => {
			await postRolloutAction(url, "autumn", "pause");
			await rollout(page).getByRole("button", { name: "Resume" }).waitFor();
			await postRolloutAction(url, "autumn", "resume");
			await route.continue();
		});
		await rollout(page).getByRole("button", { name: "Pause" }).click();
		await rollout(page).getByRole("alert").getByText("The rollout was changed concurrently").waitFor();
		assert.equal((await getRollout(url, "autumn")).status, "running");
	});

	test("is disabled while the gateway is unreachable, and current once it is back", async (t) => {
		const { page, url, fleet, stopGateway } = await setUp(t, some(2, "waits"));
		const groups = [{ size: "rest", concurrency: 1, soakSeconds: 0 }];
		await putRollout(url, "autumn", quickPlan({ groups }));
		await rollout(page).getByRole("button", { name: "1 updating" }).waitFor();
		const startAgain = await stopGateway();
		await gatewayAway(page).waitFor();
		for (const name of ["Pause", "Cancel"])
			assert.equal(await rollout(page).getByRole("button", { name }).isDisabled(), true);
		await startAgain();
		for (const device of fleet) await device.connect();
		await fleet[0]?.finish("updates");
		await page.getByText("Live").waitFor();
		await rollout(page).getByRole("button", { name: "1 updated" }).waitFor();
		assert.equal(await rollout(page).getByRole("button", { name: "Pause" }).isEnabled(), true);
	});

	test("lists its devices by status on demand, rendering only visible ones", async (t) => {
		const { page, url } = await setUp(t, some(300, "waits"));
		const requests: string[] = [];
		page.on("request", (request) => requests.push(request.url()));
		const groups = [{ size: "rest", concurrency: 1, soakSeconds: 0 }];
		await putRollout(url, "autumn", quickPlan({ groups }));
		await rollout(page).getByRole("button", { name: "299 waiting" }).click();
		const list = rollout(page).getByRole("list", { name: "Waiting devices" });
		await list.getByRole("listitem").first().waitFor();
		const rendered = await list.getByRole("listitem").count();
		assert.ok(rendered < 40, `${rendered} items are rendered`);
		assert.deepEqual(
			[...new Set(requests.filter((address) => address.includes("/devices")))],
			[`${url}/api/rollouts/autumn/devices?status=queued`],
		);
		const { devices } = await getSteps(url, "autumn", "queued");
		const last = devices.at(-1);
		assert.ok(last, "no device is queued");
		// Checked within frames, as the list renders every second anyway.
		const shown: string = await page.evaluate(`(async () => {
			scrollTo(0, document.body.scrollHeight);
			for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
			return document.querySelector(".device-list").textContent;
		})()`);
		assert.ok(shown.includes(last.deviceId), shown);
	});
});
