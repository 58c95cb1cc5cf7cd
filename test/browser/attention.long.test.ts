import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { uplinkExamples } from "../../scripts/api/examples.js";
import { skip } from "../support/chromium.js";
import { bearer, monitorToken, runGateway, wholeFleetAtOnce } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { browsing } from "./browsing.js";

const open = browsing();
const { crash } = uplinkExamples.crash_report;
const crashed = "dev-1-aaaaaa";
const refused = "dev-1-bbbbbb";

/** The number in the header; empty: none. */
async function shows(page: Page, number: string): Promise<void> {
	const link = page.getByRole("navigation", { name: "Views" }).getByRole("link", {
		name: number === "" ? "Attention" : `Attention ${number}`,
		exact: true,
	});
	await link.waitFor();
}

test("what needs a person", { skip }, async (t) => {
	const { url } = await runGateway(t, wholeFleetAtOnce);
	const connect = async (id: string) => {
		const version = crash.firmware_version;
		const options = { url, deviceId: crashed, version, crash: { ...crash, id } };
		const device = await new ScriptedDevice(options).connect();
		t.after(() => device.close());
	};
	/** With a token that the gateway does not know. */
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
			.getByRole("button", { name: `Seen: ${label}` })
			.click();
		for (const page of [one, other]) await regionOf(page, name).waitFor({ state: "detached" });
	};

	await t.test("is counted in the header, above every device", async () => {
		for (const page of [one, other]) await shows(page, "2");
		await regionOf(other, "Crashed").getByRole("link", { name: "Kitchen speaker" }).waitFor();
		await regionOf(other, "Refused").getByText(refused).waitFor();
	});

	await t.test("says why in full on a phone, above what can be done", async () => {
		for (const width of [320, 390]) {
			await one.setViewportSize({ width, height: 800 });
			const cut: readonly string[] = await one.evaluate(`(async () => {
				const isCut = (row) => {
					const { top, bottom } = row.getBoundingClientRect();
					const text = row.querySelector(".concern-text");
					const boxes = [...row.children].map((each) => each.getBoundingClientRect());
					return text.scrollHeight > text.clientHeight ||
						boxes.some((box) => box.height > 0 && (box.top < top || box.bottom > bottom));
				};
				const rows = () => [...document.querySelectorAll(".concern")].filter(isCut);
				for (let frame = 0; frame < 60 && rows().length > 0; frame++)
					await new Promise(requestAnimationFrame);
				return rows().map((row) => row.textContent);
			})()`);
			assert.deepEqual(cut, [], String(width));
		}
		await one.setViewportSize({ width: 1280, height: 900 });
	});

	await t.test("is seen for all people, by the name of the device, until the next event", async () => {
		await isSeen("Crashed", "Kitchen speaker");
		for (const page of [one, other]) await shows(page, "1");
		await connect("c2");
		for (const page of [one, other]) {
			await regionOf(page, "Crashed").getByRole("link", { name: "Kitchen speaker" }).waitFor();
			await shows(page, "2");
		}
	});

	await t.test("so is a refusal", async () => {
		await regionOf(one, "Refused").getByRole("button", { name: /^Seen/ }).click();
		for (const page of [one, other]) await regionOf(page, "Refused").waitFor({ state: "detached" });
		await beRefused();
		for (const page of [one, other]) await regionOf(page, "Refused").getByText(refused).waitFor();
		for (const page of [one, other]) await shows(page, "2");
	});

	await t.test("is not a refusal of a device that is connected now", async () => {
		const device = await new ScriptedDevice({ url, deviceId: refused }).connect();
		t.after(() => device.close());
		for (const page of [one, other]) {
			await regionOf(page, "Refused").waitFor({ state: "detached" });
			await shows(page, "1");
		}
	});

	await t.test("is nothing once all was seen, and what was seen can be shown", async () => {
		await isSeen("Crashed", "Kitchen speaker");
		await other.getByRole("heading", { level: 1 }).getByText("Nothing needs you").waitFor();
		await shows(other, "");
		await other.getByRole("button", { name: "Show 1 seen" }).click();
		await regionOf(other, "Crashed").getByText("seen", { exact: true }).waitFor();
	});
});

test("ages are by the gateway's clock: a browser's is two hours ahead", { skip }, async (t) => {
	const { url } = await runGateway(t, wholeFleetAtOnce);
	const device = await new ScriptedDevice({ url, deviceId: crashed }).connect();
	const page = await open(t, url, {
		prepare: (context) => context.clock.install({ time: Date.now() + 2 * 60 * 60_000 }),
	});
	await page.getByText("1 of 1 here").waitFor();
	device.close();
	await page
		.locator(".device-row")
		.getByText(/^Away since \d\d:\d\d$/)
		.waitFor();
	await page.getByRole("link", { name: "Attention" }).click();
	await page.getByRole("combobox", { name: "Away for longer than" }).selectOption({ label: "an hour" });
	await page.getByText("1 device away").click();
	await page.getByRole("heading", { level: 1 }).getByText("Nothing needs you").waitFor();
	await shows(page, "");
});

test("a gateway that is not ready, as its disk is full, is in Attention until it is", { skip }, async (t) => {
	let isFull = true;
	const statfs = new Proxy(fs.statfs, {
		apply: async (target, _, args: Parameters<typeof fs.statfs>) =>
			Object.assign(await target(...args), isFull && { bavail: 0 }),
	});
	const { url } = await runGateway(t, { ...wholeFleetAtOnce, disk: { ...fs, statfs } });
	const page = await open(t, url, { expected: /503/ });
	await page.clock.install();
	await shows(page, "1");
	await page.getByRole("link", { name: "Attention" }).click();
	await page.getByRole("region", { name: "Gateway" }).getByText("The data folder's disk is full.").waitFor();
	await page.getByRole("heading", { level: 1 }).getByText("1 thing to look at").waitFor();
	isFull = false;
	await page.reload();
	await page.getByRole("heading", { level: 1 }).getByText("Nothing needs you").waitFor();
	isFull = true;
	await page.clock.fastForward(31_000);
	await shows(page, "1");
});
