import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { uplinkExamples } from "../../scripts/api/examples.js";
import { Authority, tlsFiles } from "../support/certificates.js";
import { skip } from "../support/chromium.js";
import { whyMissing } from "../support/programs.js";
import { postRolloutAction, putRollout, quickPlan, runReleasedFleet } from "../support/released-fleet.js";
import { bearer, monitorToken, noRateLimits, runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { violations } from "./axe.js";
import { browsing } from "./browsing.js";

const open = browsing();
const { crash } = uplinkExamples.crash_report;
const crashed = "dev-1-aaaaaa";
const refused = "dev-1-bbbbbb";

const crashTitle = "TypeError in onButton";

/** Row of the list of issues. */
function row(page: Page, title: string): Locator {
	return page.getByRole("listitem").filter({ has: page.getByRole("button", { name: title, exact: true }) });
}

/** Opens a row. */
async function details(page: Page, title: string): Promise<Locator> {
	await page.getByRole("button", { name: title, exact: true }).press("Enter");
	return page.getByRole("dialog", { name: title });
}

/** Issue count in the header; empty: none. */
async function shows(page: Page, number: string): Promise<void> {
	const link = page.getByRole("navigation", { name: "Views" }).getByRole("link", {
		name: number === "" ? "Issues" : `Issues ${number}`,
		exact: true,
	});
	await link.waitFor();
}

test("issues", { skip }, async (t) => {
	const { url } = await runGateway(t, noRateLimits);
	const connect = async (id: string) => {
		const version = crash.firmware_version;
		const options = { url, deviceId: crashed, version, crash: { ...crash, id } };
		const device = await new ScriptedDevice(options).connect();
		t.after(() => device.close());
	};
	/** Connects with an invalid token. */
	const beRefused = async () => {
		const device = new ScriptedDevice({ url, deviceId: refused, token: "not-the-token-of-devices" });
		await assert.rejects(device.connect());
	};
	await connect("c1");
	const headers = { ...bearer(monitorToken), "Content-Type": "application/json" };
	const body = JSON.stringify({ name: "Kitchen speaker" });
	await fetch(`${url}/api/devices/${crashed}`, { method: "PATCH", headers, body });
	await beRefused();
	const one = await open(t, url, { view: "#/attention" });
	const other = await open(t, url, { view: "#/attention" });
	const dismissed = async (title: string) => {
		await row(one, title)
			.getByRole("button", { name: `Dismiss: ${title}` })
			.click();
		for (const page of [one, other]) await row(page, title).waitFor({ state: "detached" });
	};

	await t.test("are counted in the navigation, a row each", async () => {
		for (const page of [one, other]) await shows(page, "2");
		await row(other, crashTitle).getByText("New crash · Kitchen speaker · 1.4.0").waitFor();
		await row(other, "Rejected").getByText(refused).waitFor();
		assert.equal(await other.getByRole("list", { name: "Issues" }).getByRole("listitem").count(), 2);
	});

	await t.test("are dismissed for everyone until the next event", async () => {
		await dismissed(crashTitle);
		for (const page of [one, other]) await shows(page, "1");
		await connect("c2");
		for (const page of [one, other]) {
			await row(page, crashTitle).getByText("Kitchen speaker").waitFor();
			await shows(page, "2");
		}
	});

	await t.test("of rejected devices are dismissed for everyone", async () => {
		const sheet = await details(one, "Rejected");
		await sheet.getByText("Missing or invalid token.").waitFor();
		assert.deepEqual(await violations(one), []);
		await sheet.getByRole("button", { name: /^Dismiss/ }).click();
		for (const page of [one, other]) await row(page, "Rejected").waitFor({ state: "detached" });
		await beRefused();
		for (const page of [one, other]) await row(page, "Rejected").getByText(refused).waitFor();
		for (const page of [one, other]) await shows(page, "2");
	});

	await t.test("do not include the rejection of a device that has since connected", async () => {
		const device = await new ScriptedDevice({ url, deviceId: refused }).connect();
		t.after(() => device.close());
		for (const page of [one, other]) {
			await row(page, "Rejected").waitFor({ state: "detached" });
			await shows(page, "1");
		}
	});

	await t.test("are listed apart once dismissed", async () => {
		await dismissed(crashTitle);
		await other.getByRole("heading", { level: 1 }).getByText("All good").waitFor();
		await shows(other, "");
		await other.getByText("1 dismissed", { exact: true }).click();
		await row(other, crashTitle).getByText("Kitchen speaker").waitFor();
		assert.equal(await other.getByRole("button", { name: /^Dismiss/ }).count(), 0);
	});
});

describe("issue of many devices", { skip }, () => {
	const fault = "The codec does not answer.";

	/** Connects eleven devices with a speaker fault and one with a weak signal. */
	async function setUp(t: TestContext) {
		const { url } = await runGateway(t, noRateLimits);
		const devices = Array.from({ length: 12 }, (_, index) => {
			const deviceId = `dev-1-${String(index).padStart(6, "0")}`;
			const report = index < 11 ? { "peripherals.audio.fault": fault } : { "network.wifi_rssi": -90 };
			return new ScriptedDevice({ url, deviceId, report });
		});
		for (const device of devices) {
			await device.connect();
			t.after(() => device.close());
		}
		const headers = { ...bearer(monitorToken), "Content-Type": "application/json" };
		const body = JSON.stringify({ name: "Oven", room: "Kitchen" });
		await fetch(`${url}/api/devices/dev-1-000000`, { method: "PATCH", headers, body });
		return { url, devices, page: await open(t, url, { view: "#/attention" }) };
	}

	test("is one entry with names and rooms, expandable; a weak signal is a hint", async (t) => {
		const { page } = await setUp(t);
		await page.getByRole("heading", { level: 1 }).getByText("1 issue").waitFor();
		await shows(page, "1");
		await row(page, "Speaker fault").getByText("11 devices · Kitchen").waitFor();
		const sheet = await details(page, "Speaker fault");
		assert.equal(await sheet.getByText(fault).count(), 1);
		const names = sheet.getByRole("list", { name: "Devices" }).getByRole("listitem");
		assert.equal(await names.count(), 10);
		await sheet.getByRole("button", { name: "and 1 more" }).press("Enter");
		await names.filter({ hasText: /^OvenKitchen · [\d.]+$/ }).waitFor();
		assert.equal(await names.count(), 11);
		await page.keyboard.press("Escape");
		await sheet.waitFor({ state: "detached" });
		await page
			.getByRole("button", { name: "Speaker fault", exact: true })
			.and(page.locator(":focus"))
			.waitFor();
		await page.getByRole("list", { name: "Hints" }).getByText("dev-1-000011").waitFor();
		const colors: readonly string[] = await page.evaluate(
			`[...document.querySelectorAll(".issue")].map((node) => getComputedStyle(node, "::before").backgroundColor)`,
		);
		assert.equal(new Set(colors).size, 2);
		await (await details(page, "Speaker fault")).getByRole("button", { name: "and 1 more" }).click();
		await names.getByRole("link", { name: "Oven" }).click();
		await page.getByRole("heading", { level: 1, name: "Oven" }).waitFor();
	});

	test("is dismissed for all devices, counted alike in the fleet, and returns with a later event", async (t) => {
		const { page, url, devices } = await setUp(t);
		const fleet = await open(t, url);
		const chip = (count: number) => fleet.getByRole("button", { name: `Hardware fault: ${count}` });
		await chip(11).click();
		await fleet.getByText("11 of 12 devices").waitFor();
		await page.getByRole("button", { name: "Dismiss: Speaker fault, 11 devices" }).click();
		await page.getByRole("heading", { level: 1 }).getByText("All good").waitFor();
		await fleet.getByText("0 of 12 devices").waitFor();
		await chip(0).click();
		await chip(0).waitFor({ state: "detached" });
		devices[3]?.set({ "peripherals.audio.fault": "No clock." });
		devices[3]?.report();
		await chip(1).waitFor();
		await shows(page, "1");
		await page.getByRole("button", { name: "Dismiss: Speaker fault, dev-1-000003" }).waitFor();
		await (await details(page, "Speaker fault")).getByText("No clock.").waitFor();
	});
});

test("shows that all is good without issues, whether devices are connected or not", { skip }, async (t) => {
	const { url } = await runGateway(t, noRateLimits);
	const device = new ScriptedDevice({ url, deviceId: crashed });
	await device.connect();
	const page = await open(t, url, { view: "#/attention" });
	const says = () => page.getByRole("heading", { level: 1 }).getByText("All good", { exact: true }).waitFor();
	await says();
	device.close();
	await says();
});

test("computes ages by the gateway's clock although the browser's is two days ahead", { skip }, async (t) => {
	const { url } = await runGateway(t, noRateLimits);
	const device = await new ScriptedDevice({ url, deviceId: crashed }).connect();
	const page = await open(t, url, {
		prepare: (context) => context.clock.install({ time: Date.now() + 48 * 60 * 60_000 }),
	});
	await page.getByText("1 of 1 connected").waitFor();
	device.close();
	await page
		.locator(".device-row")
		.getByText(/^Away since \d\d:\d\d$/)
		.waitFor();
	await page.getByRole("link", { name: "Issues" }).click();
	await page.getByRole("heading", { level: 1 }).getByText("All good").waitFor();
	await shows(page, "");
});

test("reports a certificate that expires soon as an issue", {
	skip: skip || whyMissing("openssl"),
}, async (t) => {
	const folder = await temporaryDirectory(t);
	const tls = tlsFiles(folder, new Authority(folder, "ca").issue("IP:127.0.0.1", 10));
	const { url } = await runGateway(t, { ...noRateLimits, tls });
	const page = await open(t, url, { view: "#/attention", ignoreHTTPSErrors: true });
	await page.getByRole("button", { name: /^The TLS certificate expires at/ }).waitFor();
	await shows(page, "1");
});

test("reports a gateway with a full disk as an issue until it is ready", { skip }, async (t) => {
	let isFull = true;
	const statfs = new Proxy(fs.statfs, {
		apply: async (target, _, args: Parameters<typeof fs.statfs>) =>
			Object.assign(await target(...args), isFull && { bavail: 0 }),
	});
	const { url } = await runGateway(t, { ...noRateLimits, disk: { ...fs, statfs } });
	const page = await open(t, url, { expected: /503/ });
	await page.clock.install();
	await shows(page, "1");
	await page.getByRole("link", { name: "Issues" }).click();
	await page.getByRole("button", { name: "The data folder's disk is full." }).waitFor();
	await page.getByRole("heading", { level: 1 }).getByText("1 issue").waitFor();
	isFull = false;
	await page.reload();
	await page.getByRole("heading", { level: 1 }).getByText("All good").waitFor();
	isFull = true;
	await page.clock.fastForward(31_000);
	await shows(page, "1");
});

test("crashes are one row for each cause", { skip }, async (t) => {
	const { url } = await runGateway(t, noRateLimits);
	const crashOnce = async (deviceId: string, id: string, message: string, kind = crash.kind) => {
		const stack = "at onButton (device/rules.ts:31)";
		const version = id === "c2" ? "1.4.0" : "1.3.0";
		const options = {
			url,
			deviceId,
			version,
			crash: { ...crash, firmware_version: version, kind, id, message, stack },
		};
		const device = await new ScriptedDevice(options).connect();
		t.after(() => device.close());
	};
	for (const index of [1, 2, 3])
		await crashOnce(`dev-1-00000${index}`, `c${index}`, `TypeError: no face ${index}`);
	const page = await open(t, url, { view: "#/attention" });
	const rows = page.getByRole("list", { name: "Issues" }).getByRole("listitem");

	await t.test("with all devices, versions and the stack", async () => {
		await row(page, crashTitle).getByText("New crash · 3 devices · 1.3.0, 1.4.0").waitFor();
		assert.equal(await rows.count(), 1);
		await shows(page, "1");
		const sheet = await details(page, crashTitle);
		await sheet.getByText("TypeError: no face #, in onButton (device/rules.ts).").waitFor();
		await sheet.getByText("at onButton (device/rules.ts:31)").waitFor();
		await sheet.getByText("1.3.0: 2, 1.4.0: 1").waitFor();
		await sheet.getByRole("link", { name: "dev-1-000002" }).waitFor();
		await sheet.getByRole("button", { name: "Dismiss: TypeError in onButton, 3 devices" }).click();
		await sheet.waitFor({ state: "detached" });
		await page.reload();
		await page.getByText("1 dismissed").waitFor();
		assert.equal(await rows.count(), 0);
	});

	await t.test("which have different titles", async () => {
		await crashOnce("dev-1-000001", "c4", "TypeError: no face 8");
		await crashOnce("dev-1-000004", "c5", "TypeError: no volume");
		await row(page, `${crashTitle}: TypeError: no volume, in onButton (device/rules.ts).`).waitFor();
		assert.equal(await rows.count(), 2);
		await shows(page, "2");
	});
});

test("a paused rollout is a row until it continues, and leads to it", { skip }, async (t) => {
	const { url } = await runReleasedFleet(t, [{ ending: "waits" }]);
	await putRollout(url, "autumn", quickPlan());
	const page = await open(t, url, { view: "#/attention" });
	await page.getByRole("heading", { level: 1 }).getByText("All good").waitFor();
	await postRolloutAction(url, "autumn", "pause");
	await shows(page, "1");
	await row(page, "Rollout of 1.4.0 paused").getByRole("link", { name: "Show rollout" }).waitFor();
	await postRolloutAction(url, "autumn", "resume");
	await page.getByRole("heading", { level: 1 }).getByText("All good").waitFor();
});
