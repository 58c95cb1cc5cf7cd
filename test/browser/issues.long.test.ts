import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { describe, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { uplinkExamples } from "../../scripts/api/examples.js";
import { Authority, opensslMissing, tlsFiles } from "../support/certificates.js";
import { skip } from "../support/chromium.js";
import { bearer, monitorToken, noRateLimits, runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { browsing } from "./browsing.js";

const open = browsing();
const { crash } = uplinkExamples.crash_report;
const crashed = "dev-1-aaaaaa";
const refused = "dev-1-bbbbbb";

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
	const regionOf = (page: Page, name: string) => page.getByRole("region", { name });
	const isSeen = async (name: string, label: string) => {
		await regionOf(one, name)
			.getByRole("button", { name: `Dismiss: ${name}, ${label}` })
			.click();
		for (const page of [one, other]) await regionOf(page, name).waitFor({ state: "detached" });
	};

	await t.test("counts issues in the header", async () => {
		for (const page of [one, other]) await shows(page, "2");
		await regionOf(other, "Crashed").getByRole("link", { name: "Kitchen speaker" }).waitFor();
		await regionOf(other, "Rejected").getByText(refused).waitFor();
	});

	await t.test("dismisses an issue for everyone until the next event", async () => {
		await isSeen("Crashed", "Kitchen speaker");
		for (const page of [one, other]) await shows(page, "1");
		await connect("c2");
		for (const page of [one, other]) {
			await regionOf(page, "Crashed").getByRole("link", { name: "Kitchen speaker" }).waitFor();
			await shows(page, "2");
		}
	});

	await t.test("dismisses a rejection for everyone", async () => {
		await regionOf(one, "Rejected")
			.getByRole("button", { name: /^Dismiss/ })
			.click();
		for (const page of [one, other]) await regionOf(page, "Rejected").waitFor({ state: "detached" });
		await beRefused();
		for (const page of [one, other]) await regionOf(page, "Rejected").getByText(refused).waitFor();
		for (const page of [one, other]) await shows(page, "2");
	});

	await t.test("ignores the rejection of a device that has since connected", async () => {
		const device = await new ScriptedDevice({ url, deviceId: refused }).connect();
		t.after(() => device.close());
		for (const page of [one, other]) {
			await regionOf(page, "Rejected").waitFor({ state: "detached" });
			await shows(page, "1");
		}
	});

	await t.test("is empty once all issues are dismissed, and can show dismissed ones", async () => {
		await isSeen("Crashed", "Kitchen speaker");
		await isSeen("New crash", "Kitchen speaker");
		await other.getByRole("heading", { level: 1 }).getByText("All good").waitFor();
		await shows(other, "");
		await other.getByText("1 dismissed", { exact: true }).click();
		await regionOf(other, "Crashed").getByRole("link", { name: "Kitchen speaker" }).waitFor();
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
		const faulty = page.getByRole("region", { name: "Hardware fault" });
		assert.equal(await faulty.count(), 1);
		assert.equal(await faulty.getByText(fault).count(), 1);
		const names = faulty.getByRole("listitem");
		await names.filter({ hasText: "and 3 more" }).waitFor();
		assert.equal(await faulty.getByRole("link").count(), 8);
		await faulty.getByRole("button", { name: "and 3 more" }).press("Enter");
		await names.filter({ hasText: /^Oven Kitchen$/ }).waitFor();
		assert.equal(await faulty.getByRole("link").count(), 11);
		const hint = page.getByRole("region", { name: "Weak signal" });
		await hint.getByRole("link", { name: "dev-1-000011" }).waitFor();
		const [wrong, weak]: readonly string[] = await page.evaluate(
			`[...document.querySelectorAll(".issue h2")].map((node) => getComputedStyle(node).color)`,
		);
		assert.notEqual(wrong, weak);
		await names.getByRole("link", { name: "Oven" }).click();
		await page.getByRole("heading", { level: 1, name: "Oven" }).waitFor();
	});

	test("is dismissed for all devices, counted alike in the fleet, and returns with a later event", async (t) => {
		const { page, url, devices } = await setUp(t);
		const fleet = await open(t, url);
		const chip = (count: number) => fleet.getByRole("button", { name: `Hardware fault: ${count}` });
		await chip(11).click();
		await fleet.getByText("11 of 12 devices").waitFor();
		await page.getByRole("button", { name: "Dismiss: Hardware fault, 11 devices" }).click();
		await page.getByRole("heading", { level: 1 }).getByText("All good").waitFor();
		await fleet.getByText("0 of 12 devices").waitFor();
		await chip(0).click();
		await chip(0).waitFor({ state: "detached" });
		devices[3]?.set({ "peripherals.audio.fault": "No clock." });
		devices[3]?.report();
		await chip(1).waitFor();
		await page.getByRole("region", { name: "Hardware fault: No clock." }).waitFor();
		await shows(page, "1");
		await page.getByRole("button", { name: "Dismiss: Hardware fault, dev-1-000003" }).waitFor();
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
	skip: skip || opensslMissing(),
}, async (t) => {
	const folder = await temporaryDirectory(t);
	const tls = tlsFiles(folder, new Authority(folder, "ca").issue("IP:127.0.0.1", 10));
	const { url } = await runGateway(t, { ...noRateLimits, tls });
	const page = await open(t, url, { view: "#/attention", ignoreHTTPSErrors: true });
	await page.getByRole("region", { name: "Gateway" }).getByText("The TLS certificate expires at").waitFor();
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
	await page.getByRole("region", { name: "Gateway" }).getByText("The data folder's disk is full.").waitFor();
	await page.getByRole("heading", { level: 1 }).getByText("1 issue").waitFor();
	isFull = false;
	await page.reload();
	await page.getByRole("heading", { level: 1 }).getByText("All good").waitFor();
	isFull = true;
	await page.clock.fastForward(31_000);
	await shows(page, "1");
});

test("crashes of one cause", { skip }, async (t) => {
	const { url } = await runGateway(t, noRateLimits);
	const crashOnce = async (deviceId: string, id: string, message: string) => {
		const version = crash.firmware_version;
		const stack = "at onButton (device/rules.ts:31)";
		const options = { url, deviceId, version, crash: { ...crash, id, message, stack } };
		const device = await new ScriptedDevice(options).connect();
		t.after(() => device.close());
	};
	await crashOnce("dev-1-aaaaaa", "c1", "TypeError: no face 7");
	const page = await open(t, url, { view: "#/attention" });
	const news = page.getByRole("region", { name: /^New crash/ });
	const why = "TypeError: no face #, in onButton (device/rules.ts).";

	await t.test("report a new cause once for all devices", async () => {
		await news.getByText(why).waitFor();
		await news.getByRole("link", { name: "dev-1-aaaaaa" }).waitFor();
		await news.getByRole("button", { name: "Dismiss: New crash, dev-1-aaaaaa" }).click();
		await news.waitFor({ state: "detached" });
		await page.reload();
		await page.getByText("Crashes by cause: 1").waitFor();
		assert.equal(await news.count(), 0);
	});

	await t.test("are listed together, separate from another cause", async () => {
		await crashOnce("dev-1-bbbbbb", "c2", "TypeError: no face 8");
		await crashOnce("dev-1-bbbbbb", "c3", "TypeError: no volume");
		await page.getByText("Crashes by cause: 2").click();
		const cause = page.getByRole("region", { name: `Cause: ${why}` });
		await cause.getByText("2 times on 2 devices").waitFor();
		await cause.getByRole("link", { name: "dev-1-bbbbbb" }).waitFor();
		await news.getByText("TypeError: no volume, in onButton (device/rules.ts).").waitFor();
		assert.equal(await news.count(), 1);
	});
});
