/** Actions from the fleet view: on one device, on a selection, and forgetting. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import type { Rollout } from "../../gateway/api/client/rollout.js";
import type { GatewayOptions } from "../../gateway/gateway.js";
import { call } from "../support/call.js";
import { skip } from "../support/chromium.js";
import { waitUntil } from "../support/eventually.js";
import { writeReleases } from "../support/releases.js";
import { bearer, monitorToken, noRateLimits, runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../support/scripted-device.js";
import { browsing, gatewayAway, problems } from "./browsing.js";

const open = browsing();

function idOf(index: number): string {
	return `dev-1-${String(index).padStart(6, "0")}`;
}

/** Opens a panel of the selection bar. */
async function panel(page: Page, name: "Volume" | "More"): Promise<Locator> {
	const bar = page.getByRole("region", { name: "Selected devices" });
	await bar.locator("summary", { hasText: name }).click();
	return bar;
}

async function runMany(
	t: TestContext,
	count: number,
	options: (index: number) => Partial<ScriptedDeviceOptions> = () => ({}),
	gatewayOptions: Partial<GatewayOptions> = {},
) {
	const { url, monitor, gateway } = await runGateway(t, { ...noRateLimits, ...gatewayOptions });
	const connect = (index: number) =>
		new ScriptedDevice({ url, deviceId: idOf(index), ...options(index) }).connect();
	const devices = await Promise.all(Array.from({ length: count }, (_, index) => connect(index)));
	t.after(() => {
		for (const device of devices) device.close();
	});
	return { url, monitor, gateway, devices };
}

describe("a selection", { skip }, () => {
	test("sends a command to each device, and shows each result with the reason of failures", async (t) => {
		const { url, devices } = await runMany(t, 6, (index) => ({ executesCommands: index !== 2 }));
		const page = await open(t, url, { view: "#/?view=table" });
		await page.getByLabel(`Select ${idOf(1)}`).click();
		await page.getByLabel(`Select ${idOf(4)}`).click({ modifiers: ["Shift"] });
		const bar = page.getByRole("region", { name: "Selected devices" });
		await bar.getByText("4 selected").waitFor();
		devices[4]?.close();
		await bar.getByText("4 selected, 1 away").waitFor();
		await panel(page, "Volume");
		await bar.getByRole("spinbutton", { name: "Volume" }).fill("12");
		await bar.getByRole("button", { name: "Set volume" }).click();
		const results = page.getByRole("region", { name: "Volume 12" });
		await results.getByText("Sent to 1, 2 done").waitFor();
		devices[2]?.refuse("set_volume", "the codec does not answer");
		await results.getByText("1 failed, 2 done").waitFor();
		await results.getByRole("button", { name: "Details" }).click();
		const answers = await results.getByRole("listitem").allTextContents();
		assert.deepEqual(answers, [
			`${idOf(2)}failed: The codec does not answer.`,
			`${idOf(1)}done`,
			`${idOf(3)}done`,
		]);
		assert.deepEqual(
			devices.map(({ commands }) => commands.length),
			[0, 1, 1, 1, 0, 0],
		);
		assert.deepEqual(devices[1]?.commands, [{ command: "set_volume", value: 12 }]);
		await page
			.getByRole("row", { name: idOf(3) })
			.getByText("12", { exact: true })
			.waitFor();
		await panel(page, "More");
		await bar.getByRole("combobox", { name: "Ring" }).selectOption("Off");
		await bar.getByRole("button", { name: "Set ring" }).click();
		await page.getByText("1 running, 1 ended").waitFor();
		await page.getByRole("button", { name: "Show" }).click();
		await page.getByRole("heading", { name: "Ring: Off" }).waitFor();
		assert.deepEqual(devices[3]?.commands[1], { command: "set_led", value: "idle" });
		const ring = page.getByRole("region", { name: "Ring: Off" });
		for (const device of devices.slice(1, 4))
			device.report({ "peripherals.led_ring.state_id": 0, "peripherals.led_ring.state_name": "idle" });
		await page.getByText("Ring: Off: 3 devices").waitFor();
		assert.equal(await ring.count(), 0, "nothing is left of what was done");
		await panel(page, "More");
		await bar.getByRole("button", { name: "Flash light" }).click();
		await page.getByRole("region", { name: "Flash light" }).getByText("Sent to 3").waitFor();
		assert.deepEqual(devices[3]?.commands[2], { command: "identify" });
	});

	test("includes off-screen devices, and can cover all filtered ones", async (t) => {
		const { url, devices } = await runMany(t, 300, (index) => ({ version: index < 280 ? "1.0.0" : "1.4.0" }));
		const page = await open(t, url);
		await page.getByRole("button", { name: "Filter" }).click();
		await page.getByRole("combobox", { name: "Version" }).selectOption("1.0.0");
		await page.getByRole("button", { name: "Select these 280" }).click();
		await page.getByText("280 selected").waitFor();
		await page.getByRole("button", { name: "Show all" }).click();
		await panel(page, "Volume");
		await page.getByRole("button", { name: "Set volume" }).click();
		const dialog = page.getByRole("dialog", { name: "Volume 50: 280 devices?" });
		await dialog.getByRole("button", { name: "Cancel" }).click();
		assert.equal(await page.getByRole("heading", { name: "Volume 50" }).count(), 0);
		await page.getByRole("spinbutton", { name: "Volume" }).fill("33");
		await page.getByRole("button", { name: "Set volume" }).click();
		await page.getByRole("dialog").getByRole("button", { name: "Set volume" }).click();
		await page.locator(".toasts").getByText("Volume 33: 280 devices").waitFor();
		const asked = devices.filter(({ commands }) => commands.length === 1);
		assert.deepEqual([asked.length, asked.at(-1)?.deviceId], [280, idOf(279)]);
	});

	test("starts with one device and extends to all shown, on a phone", async (t) => {
		const { url } = await runMany(t, 60);
		const viewport = { width: 390, height: 844 };
		const page = await open(t, url, { view: "#/?search=dev-1-00000", viewport });
		await page.getByLabel(`Select ${idOf(3)}`).click();
		await panel(page, "More");
		await page.getByRole("button", { name: "Select 9 more" }).click();
		await page.getByText("10 selected").waitFor();
		assert.equal(await page.getByRole("button", { name: /^Select \d+ more$/ }).count(), 0);
	});

	test("starts with a long press", async (t) => {
		const { url } = await runMany(t, 2);
		const page = await open(t, url, { viewport: { width: 390, height: 844 }, hasTouch: true });
		const ring = await page.locator(".device-row .ring").first().boundingBox();
		assert.ok(ring, "the ring is not visible");
		const touch = await page.context().newCDPSession(page);
		const touchPoints = [{ x: ring.x + ring.width / 2, y: ring.y + ring.height / 2 }];
		await touch.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints });
		await page.getByText("1 selected").waitFor();
		await touch.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
		assert.equal(await page.locator(".device-row.selected").count(), 1);
		assert.equal(new URL(page.url()).hash, "#/", "it does not open the device");
	});

	test("takes one line at the bottom of a phone, and opens its actions upwards", async (t) => {
		const { url, devices } = await runMany(t, 12, () => ({ ending: "rolls back" }));
		devices[11]?.close();
		for (const width of [390, 320]) {
			const viewport = { width, height: 844 };
			const page = await open(t, url, { view: "#/?search=dev", viewport, hasTouch: true });
			await page.getByText("12 of 12 devices").waitFor();
			const list = await page.getByRole("list", { name: "Devices" }).boundingBox();
			assert.ok(list && list.y <= 260, `the list begins at ${list?.y}`);
			// Touch selects by a long press; a screen reader uses the check box.
			await page.getByLabel(`Select ${idOf(3)}`).dispatchEvent("click");
			const bar = page.getByRole("region", { name: "Selected devices" });
			const closed = await bar.boundingBox();
			assert.ok(closed && closed.height <= 64, `the bar is ${closed?.height} high`);
			await panel(page, "More");
			await bar.getByRole("button", { name: "Set room" }).waitFor();
			const opened = await bar.locator("[open] > .menu-items").boundingBox();
			assert.ok(
				opened && opened.y >= 0 && opened.y + opened.height <= closed.y,
				`it opens upwards: ${JSON.stringify([opened, closed])}`,
			);
			assert.ok(opened.x >= 0 && opened.x + opened.width <= width, "it is in the window");
		}
	});

	test("opens its menus at their buttons, and sets the volume of 12 devices in four taps", async (t) => {
		const { url, devices } = await runMany(t, 12);
		const page = await open(t, url, { view: "#/?view=table", viewport: { width: 1440, height: 900 } });
		await page.getByLabel(`Select ${idOf(0)}`).click();
		await page.getByLabel(`Select ${idOf(11)}`).click({ modifiers: ["Shift"] });
		const bar = await panel(page, "Volume");
		for (const name of ["Volume", "Tags", "More"]) {
			const button = bar.locator("summary", { hasText: name });
			if (name !== "Volume") await button.click();
			const [at, menu] = [
				await button.boundingBox(),
				await bar.locator("[open] > .menu-items").boundingBox(),
			];
			assert.equal(at && at.x + at.width, menu && menu.x + menu.width, name);
		}
		await panel(page, "Volume");
		await page.keyboard.type("31");
		await bar.getByRole("button", { name: "Set volume" }).click();
		await page.getByText("Volume 31: 12 devices").waitFor();
		assert.deepEqual(devices[11]?.commands, [{ command: "set_volume", value: 31 }]);
	});

	test("is asked to its end, though one device refuses", async (t) => {
		const { url, devices } = await runMany(t, 22, () => ({ executesCommands: false }));
		const page = await open(t, url);
		await page.getByRole("button", { name: "Select all 22" }).click();
		await panel(page, "Volume");
		await page.getByRole("button", { name: "Set volume" }).click();
		await page.getByRole("dialog").getByRole("button", { name: "Set volume" }).click();
		const results = page.getByRole("region", { name: "Volume 50" });
		await results.getByText("Sent to 20, 2 queued").waitFor();
		devices[0]?.refuse("set_volume", "the codec does not answer");
		await results.getByText("1 failed, sent to 20, 1 queued").waitFor();
		for (const device of devices.slice(1, -1)) device.report({ "peripherals.audio.volume": 50 });
		// Its turn comes once another device has responded.
		await waitUntil(() => devices.at(-1)?.commands.length !== 0);
		devices.at(-1)?.report({ "peripherals.audio.volume": 50 });
		await results.getByText("1 failed, 21 done").waitFor();
		assert.deepEqual(devices.at(-1)?.commands, [{ command: "set_volume", value: 50 }]);
		const other = await open(t, url);
		for (const each of [page, other]) {
			await each.reload();
			await each.getByRole("region", { name: "Volume 50" }).getByText("1 failed, 21 done").waitFor();
		}
		assert.equal(await page.evaluate("sessionStorage.length"), 0, "the gateway alone knows it");
		const isForgotten = page.waitForResponse((response) => response.request().method() === "DELETE");
		await results.getByRole("button", { name: "Close" }).click();
		await isForgotten;
		await page.reload();
		await page.getByText("22 of 22 connected").waitFor();
		assert.equal(await results.count(), 0, "it has been read");
	});

	test("of another person is shown while it runs", async (t) => {
		const { url, devices } = await runMany(t, 2, (index) => ({ executesCommands: index === 0 }));
		const page = await open(t, url);
		const post = async (path: string, token: string, body: object) => {
			const headers = { ...bearer(token), "Content-Type": "application/json" };
			const response = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
			return response.json();
		};
		const { token } = Object(await post("/api/tokens", monitorToken, { name: "ann", role: "user" }));
		const payload = { command: "set_volume", value: 30 };
		await post("/api/commands", token, { targets: { all: true }, payload });
		const results = page.getByRole("region", { name: "Volume 30" });
		await results.getByText("Sent to 1, 1 done").waitFor();
		devices[1]?.refuse("set_volume", "the codec does not answer");
		await results.waitFor({ state: "detached" });
		await page.reload();
		await page.getByText("2 of 2 connected").waitFor();
		assert.equal(await results.count(), 0);
	});

	test("is asked by the gateway: after a reload in the middle the rest is asked, and the answers are shown", async (t) => {
		const { url, devices } = await runMany(t, 22, () => ({ executesCommands: false }));
		const page = await open(t, url);
		await page.getByRole("button", { name: "Select all 22" }).click();
		await panel(page, "Volume");
		await page.getByRole("button", { name: "Set volume" }).click();
		await page.getByRole("dialog").getByRole("button", { name: "Set volume" }).click();
		const results = page.getByRole("region", { name: "Volume 50" });
		await results.getByText("Sent to 20, 2 queued").waitFor();
		let isAsked = false;
		page.on("dialog", (dialog) => {
			isAsked = true;
			void dialog.accept();
		});
		await page.reload();
		await results.getByText("Sent to 20, 2 queued").waitFor();
		assert.equal(isAsked, false, "nothing is lost with the page");
		await page.goto("about:blank");
		for (const device of devices) {
			await device.receives({ command: "set_volume", value: 50 });
			device.report({ "peripherals.audio.volume": 50 });
		}
		await page.goto(url);
		await page.getByText("Volume 50: 22 devices").waitFor();
		await page.reload();
		await page.getByText("22 of 22 connected").waitFor();
		assert.equal(await results.count(), 0);
	});

	test("is given a room by the page, which warns before it is left meanwhile", async (t) => {
		const { url } = await runMany(t, 6);
		const page = await open(t, url);
		let release = () => {};
		const released = new Promise<void>((resolve) => {
			release = resolve;
		});
		await page.route("**/api/devices/*", async (route) => {
			await released;
			await route.continue().catch(() => {});
		});
		await page.getByRole("button", { name: "Select all 6" }).click();
		const bar = page.getByRole("region", { name: "Selected devices" });
		await panel(page, "More");
		await bar.getByRole("button", { name: "Set room" }).click();
		const question = page.getByRole("dialog", { name: "No room: 6 devices?" });
		await question.getByRole("button", { name: "Keep them" }).click();
		await bar.getByRole("combobox", { name: "Room" }).fill("Attic");
		await bar.getByRole("button", { name: "Set room" }).click();
		const results = page.getByRole("region", { name: "Room Attic" });
		await results.getByText("Sent to 4, 2 queued").waitFor();
		await results.getByText("Keep this page open.").waitFor();
		const [dialog] = await Promise.all([page.waitForEvent("dialog"), page.close({ runBeforeUnload: true })]);
		assert.equal(dialog.type(), "beforeunload");
		await dialog.dismiss();
		release();
		await page.getByText("Room Attic: 6 devices").waitFor();
		await page.getByRole("region", { name: "Attic", exact: true }).waitFor();
	});

	test("is told why, where the gateway takes no more commands", async (t) => {
		const { url, devices } = await runMany(t, 1, () => ({ executesCommands: false }));
		const page = await open(t, url, { expected: /409/ });
		await page.getByLabel(`Select ${idOf(0)}`).click();
		const running = { targets: { devices: [devices[0]?.deviceId] }, payload: { command: "identify" } };
		const headers = { ...bearer(monitorToken), "Content-Type": "application/json" };
		const request = { method: "POST", headers, body: JSON.stringify(running) };
		for (let count = 0; count < 20; count++)
			assert.equal((await fetch(`${url}/api/commands`, request)).status, 202);
		await panel(page, "Volume");
		await page.getByRole("button", { name: "Set volume" }).click();
		await page
			.getByRole("alert")
			.getByText("20 commands are running, the maximum. Wait until one ends.")
			.waitFor();
	});

	test("of at most 20 devices is asked without a question, and leads to its update", async (t) => {
		const { url, devices } = await runMany(t, 20);
		const page = await open(t, url);
		await page.getByRole("button", { name: "Select all 20" }).click();
		const bar = page.getByRole("region", { name: "Selected devices" });
		const href = await bar.getByRole("link", { name: "Update…" }).getAttribute("href");
		const ids = new URLSearchParams(href?.split("?")[1]).get("devices")?.split(",");
		assert.deepEqual(
			ids,
			devices.map(({ deviceId }) => deviceId),
		);
		await panel(page, "Volume");
		await bar.getByRole("button", { name: "Set volume" }).click();
		await page.getByText("Volume 50: 20 devices").waitFor();
		assert.equal(await problems(page).count(), 0, "what was done is no problem");
		await bar.getByRole("button", { name: "Clear selection" }).click();
		await bar.waitFor({ state: "detached" });
	});

	test("leads to a rollout for these devices", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const releasesDir = join(dataDir, "releases");
		await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
		const { url, devices } = await runMany(t, 50, () => ({ ending: "waits" }), { dataDir, releasesDir });
		const page = await open(t, url, { view: "#/?view=table" });
		await page.getByLabel(`Select ${idOf(2)}`).click();
		await page.getByLabel(`Select ${idOf(4)}`).click({ modifiers: ["Shift"] });
		await page.getByRole("link", { name: "Update…" }).click();
		await page.getByRole("button", { name: "Update 3 devices" }).waitFor();
		await page.getByRole("button", { name: "Back" }).click();
		await page.getByRole("radio", { name: "3 selected devices" }).waitFor();
		await page.getByRole("button", { name: "Close" }).click();
		await page.getByRole("link", { name: "Home" }).click();
		await page.getByRole("button", { name: "Select all 50" }).click();
		await page.getByRole("link", { name: "Update…" }).click();
		await page.getByRole("button", { name: "Update 50 devices" }).waitFor();
		await page.getByRole("button", { name: "Close" }).click();
		await page.getByRole("link", { name: "Home" }).click();
		await page.getByRole("button", { name: "Clear selection" }).click();
		const chosen = devices.slice(2, 5);
		for (const { deviceId } of chosen) await page.getByLabel(`Select ${deviceId}`).click();
		await page.getByRole("link", { name: "Update…" }).click();
		await page.getByRole("button", { name: "Update 3 devices" }).click();
		// The others wait for it.
		await chosen[0]?.offered;
		const ask = async (path: string) => {
			const response = await fetch(`${url}/api/rollouts${path}`, { headers: bearer(monitorToken) });
			return response.text();
		};
		const { rollouts }: { rollouts: readonly [{ id: string }] } = JSON.parse(await ask(""));
		const { plan }: Rollout = JSON.parse(await ask(`/${rollouts[0].id}`));
		assert.deepEqual(plan.target, { devices: chosen.map(({ deviceId }) => deviceId) });
	});

	test("is connected again, and each answer is that the device came back", async (t) => {
		const { url, devices } = await runMany(t, 3);
		const page = await open(t, url);
		for (const index of [1, 2]) await page.getByLabel(`Select ${idOf(index)}`).click();
		await panel(page, "More");
		await page.getByRole("button", { name: "Reconnect" }).click();
		const results = page.getByRole("region", { name: "Reconnect" });
		await page.getByText("1 of 3 connected").waitFor();
		assert.equal(await results.getByRole("status").textContent(), "Sent to 2");
		await devices[1]?.connect();
		await results.getByText("Sent to 1, 1 done").waitFor();
		await devices[2]?.connect();
		await page.getByText("Reconnect: 2 devices").waitFor();
		await page.getByText("3 of 3 connected").waitFor();
	});

	test("outlives an outage of the gateway, in which it can do nothing", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const { url, devices, gateway } = await runMany(t, 3, () => ({}), { dataDir });
		const page = await open(t, url);
		for (const index of [0, 2]) await page.getByLabel(`Select ${idOf(index)}`).click();
		const bar = page.getByRole("region", { name: "Selected devices" });
		await gateway.close();
		await gatewayAway(page).waitFor();
		await bar.getByText("2 selected").waitFor();
		await panel(page, "More");
		for (const name of ["Set ring", "Flash light", "Reconnect"])
			assert.equal(await bar.getByRole("button", { name }).isDisabled(), true, name);
		await runGateway(t, { ...noRateLimits, dataDir, port: Number(new URL(url).port) });
		for (const device of devices) await device.connect();
		await page.getByText("3 of 3 connected").waitFor();
		await bar.getByText("2 selected", { exact: true }).waitFor();
		await panel(page, "Volume");
		await bar.getByRole("button", { name: "Set volume" }).click();
		await page.getByText("Volume 50: 2 devices").waitFor();
		assert.deepEqual(
			devices.map(({ commands }) => commands.length),
			[1, 0, 1],
		);
	});

	test("says so where the gateway is restarted before all have answered", async (t) => {
		const { url } = await runMany(t, 2, (index) => ({ executesCommands: index === 0 }));
		for (const index of [0, 1]) await call(url, "PATCH", `devices/${idOf(index)}`, { room: "Kitchen" });
		const page = await open(t, url, { expected: /ERR_INTERNET_DISCONNECTED/ });
		await page.getByRole("button", { name: "Select all 2" }).click();
		await panel(page, "More");
		await page.getByRole("button", { name: "Restart" }).click();
		const question = page.getByRole("dialog", { name: "Restart 2 devices in Kitchen?" });
		await question.getByRole("button", { name: "Restart" }).click();
		const results = page.getByRole("region", { name: "Restart" });
		await results.getByText("Sent to 1, 1 done").waitFor();
		// Response of a gateway that does not know the job.
		await page.route("**/api/commands", (route) => route.fulfill({ json: { commands: [] } }));
		await page.context().setOffline(true);
		await gatewayAway(page).waitFor();
		await page.context().setOffline(false);
		await results.getByText("Gateway restarted").waitFor();
		await results.getByText("Sent to 1, 1 done").waitFor();
		await results.getByRole("button", { name: "Close" }).click();
		await results.waitFor({ state: "detached" });
	});

	test("is restarted: done once a device is back with a new uptime, refused where its firmware is older", async (t) => {
		const features = (index: number) => (index === 1 ? { features: ["identify"] } : {});
		const { url, devices } = await runMany(t, 4, (index) => ({
			executesCommands: index !== 2,
			...features(index),
		}));
		const page = await open(t, url);
		await page.getByRole("button", { name: "Select all 4" }).click();
		await panel(page, "More");
		await page.getByRole("button", { name: "Restart" }).click();
		await page.getByRole("dialog").getByRole("button", { name: "Restart" }).click();
		const results = page.getByRole("region", { name: "Restart" });
		await results.getByText("1 not supported, sent to 1, 2 done").waitFor();
		devices[2]?.close();
		await page.getByText("3 of 4 connected").waitFor();
		await devices[2]?.connect();
		await page.getByText("4 of 4 connected").waitFor();
		await results.getByText("1 not supported, sent to 1, 2 done").waitFor();
		await devices[2]?.restart();
		await results.getByText("1 not supported, 3 done").waitFor();
		await results.getByRole("button", { name: "Details" }).click();
		const [first] = await results.getByRole("listitem").allTextContents();
		assert.match(first ?? "", new RegExp(`^${idOf(1)}not supported: .* does not support restart; update it`));
		assert.deepEqual(
			devices.map(({ commands }) => commands.length),
			[1, 0, 1, 1],
		);
	});

	test("of devices that are away is forgotten, after a question", async (t) => {
		const { url, devices } = await runMany(t, 3);
		const page = await open(t, url);
		await page.getByText("3 of 3 connected").waitFor();
		devices[0]?.close();
		devices[1]?.close();
		await page.getByText("1 of 3 connected").waitFor();
		await page.getByRole("button", { name: "Select all 3" }).click();
		await panel(page, "More");
		await page.getByRole("button", { name: "Forget 2 away" }).click();
		await page.getByRole("dialog").getByRole("button", { name: "Forget 2 devices" }).click();
		await page.getByText("1 of 1 connected").waitFor();
		await page.getByText("Forget: 2 devices").waitFor();
		await page.getByText("1 selected", { exact: true }).waitFor();
	});
});

test("a device is identified from its row, and says why it is not", { skip }, async (t) => {
	const { url, devices } = await runMany(t, 2, (index) => (index === 1 ? { features: [] } : {}));
	const page = await open(t, url, { view: "#/?view=table" });
	await page.getByRole("button", { name: `Flash light of ${idOf(0)}` }).click();
	await page.locator(".identify.sending").waitFor();
	devices[0]?.report({
		"peripherals.audio.player_state": "playing",
		"peripherals.audio.current_track": "/audio/startup",
	});
	await page.locator(".identify:not(.sending)").nth(1).waitFor();
	const button = page.getByRole("button", { name: `Flash light of ${idOf(1)}` });
	await button.click();
	await button.getByText("Failed").waitFor();
	assert.match((await button.getAttribute("title")) ?? "", /does not support identify; update it/);
	assert.deepEqual(devices[0]?.commands, [{ command: "identify" }]);
});

test("devices that have been away longest come first, and those that are chosen are forgotten, no others", {
	skip,
}, async (t) => {
	let now = Date.now();
	const { url, devices, monitor } = await runMany(t, 3, () => ({}), { now: () => now });
	const watcher = await monitor();
	devices[0]?.close();
	await watcher.change("disconnected");
	now += 40 * 86_400_000;
	devices[1]?.report({ "peripherals.audio.volume": 3 });
	await watcher.until(({ type, deviceId }) => type === "device_message" && deviceId === idOf(1));
	devices[1]?.close();
	await watcher.change("disconnected");
	const page = await open(t, url, { view: "#/?state=away&sort=heard&view=table" });
	await page.getByText(/^40 d.* ago$/).waitFor();
	assert.deepEqual(await page.locator(".table-body a").allTextContents(), [idOf(0), idOf(1)]);
	await page.getByLabel(`Select ${idOf(0)}`).click();
	await panel(page, "More");
	await page.getByRole("button", { name: "Forget 1 away" }).click();
	await page.getByRole("dialog").getByRole("button", { name: "Forget 1 device" }).click();
	await page.getByText("Forget: 1 device").waitFor();
	await page.getByRole("button", { name: "Show all" }).click();
	await page.getByText("1 of 2 connected").waitFor();
	assert.deepEqual(await page.locator(".table-body a").allTextContents(), [idOf(1), idOf(2)]);
});
