import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { skip } from "../support/chromium.js";
import { bearer, monitorToken, noRateLimits, runGateway } from "../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../support/scripted-device.js";
import { browsing, problems } from "./browsing.js";

const open = browsing();

/** Starts a gateway. @returns a function that connects a device in a room */
async function setUp(t: TestContext) {
	const { url } = await runGateway(t, noRateLimits);
	const connect = async (
		id: string,
		room: string,
		volume: number,
		options: Partial<ScriptedDeviceOptions> = {},
	) => {
		const report = { "peripherals.audio.volume": volume };
		const device = await new ScriptedDevice({ url, deviceId: `dev-1-${id}`, report, ...options }).connect();
		t.after(() => device.close());
		const headers = { ...bearer(monitorToken), "Content-Type": "application/json" };
		const body = JSON.stringify({ room });
		const path = `${url}/api/devices/${device.deviceId}`;
		assert.equal((await fetch(path, { method: "PATCH", headers, body })).status, 200);
		return device;
	};
	return { url, connect };
}

test("room", { skip }, async (t) => {
	const { url, connect } = await setUp(t);
	const [left, right] = [await connect("aaaaaa", "Kitchen", 20), await connect("bbbbbb", "Kitchen", 60)];
	const elsewhere = await connect("cccccc", "Attic", 30);
	const page = await open(t, url);
	const kitchen = page.getByRole("region", { name: "Kitchen" });
	await kitchen.getByText("60", { exact: true }).waitFor();
	const slider = kitchen.getByRole("slider", { name: "Volume of Kitchen" });

	const receive = async (ofLeft: number, ofRight: number) => {
		await left.receives({ command: "set_volume", value: ofLeft });
		await right.receives({ command: "set_volume", value: ofRight });
	};

	await t.test("scales the volume of its devices, and of no others, with one slider", async () => {
		await slider.fill("30");
		await receive(10, 30);
		await kitchen.getByText("30", { exact: true }).waitFor();
		assert.equal(await problems(page).count(), 0, "what was done is no problem");
		assert.equal(await page.locator(".toasts li").count(), 0, "the slider shows it");
		assert.deepEqual(elsewhere.commands, []);
	});

	await t.test("mutes all devices, and restores each volume when unmuted, also after a reload", async () => {
		const mute = kitchen.getByRole("button", { name: "Mute Kitchen" });
		await mute.click();
		await receive(0, 0);
		await page.reload();
		await kitchen.getByRole("button", { name: "Mute Kitchen", pressed: true }).click();
		await receive(10, 30);
		await kitchen.getByRole("button", { name: "Mute Kitchen", pressed: false }).waitFor();
	});

	await t.test("applies volume while the slider is dragged, and its last value at the end", async () => {
		const before = left.commands.length;
		await slider.focus();
		for (let step = 0; step < 12; step += 1) await page.keyboard.press("ArrowUp");
		await right.receives({ command: "set_volume", value: 42 });
		await kitchen.getByText("42", { exact: true }).waitFor();
		assert.equal(left.commands.length, before + 1, "keys are gathered");
		assert.equal(await page.locator(".dock section").count(), 0, "no bar is left");
	});

	await t.test("shows a room of one device as that device, with mute and announce", async () => {
		await page.getByRole("slider", { name: "Volume of dev-1-cccccc" }).waitFor();
		assert.equal(await page.getByRole("region", { name: "Attic" }).count(), 0);
		await page.getByRole("button", { name: "Mute dev-1-cccccc" }).click();
		await elsewhere.receives({ command: "set_volume", value: 0 });
		await page.getByRole("button", { name: "Mute dev-1-cccccc", pressed: true }).click();
		await elsewhere.receives({ command: "set_volume", value: 30 });
		await page.getByRole("link", { name: "Announce in Attic" }).waitFor();
	});

	await t.test("is part of the whole home, which one slider and one button set", async () => {
		const home = page.getByRole("region", { name: "Whole home" });
		await home.getByRole("button", { name: "Mute Whole home" }).click();
		await receive(0, 0);
		await elsewhere.receives({ command: "set_volume", value: 0 });
		await home.getByRole("button", { name: "Mute Whole home", pressed: true }).click();
		await receive(14, 42);
		await elsewhere.receives({ command: "set_volume", value: 30 });
	});

	await t.test("has a page with a link to announce in it", async () => {
		await kitchen.getByRole("link", { name: "Kitchen", exact: true }).click();
		await page.getByRole("heading", { level: 1, name: "Kitchen" }).waitFor();
		await page.getByText("2 of 2 connected").waitFor();
		assert.deepEqual(await page.locator(".device-row h2").allTextContents(), [
			"dev-1-aaaaaa",
			"dev-1-bbbbbb",
		]);
		await page.getByRole("link", { name: "Announce in Kitchen" }).click();
		const where = page.getByRole("combobox", { name: "Play on" });
		assert.equal(await where.locator("option:checked").textContent(), "Kitchen (2)");
	});

	await t.test("disables controls while all its devices are offline", async () => {
		await page.goto(`${url}/#/`);
		for (const device of [left, right, elsewhere]) device.close();
		await kitchen.getByRole("button", { name: "Mute Kitchen" }).and(page.locator(":disabled")).waitFor();
		for (const name of ["Kitchen", "dev-1-cccccc"])
			await page
				.getByRole("slider", { name: `Volume of ${name}` })
				.and(page.locator(":disabled"))
				.waitFor();
	});
});

test("sets a large room at the gateway's rate, and names the devices that failed", {
	skip,
}, async (t) => {
	const { url } = await runGateway(t, noRateLimits);
	const devices = await Promise.all(
		Array.from({ length: 200 }, (_, index) => {
			const deviceId = `dev-1-${String(index).padStart(6, "0")}`;
			const report = { "peripherals.audio.volume": Math.min(100, 20 + index) };
			return new ScriptedDevice({ url, deviceId, report, executesCommands: index !== 7 }).connect();
		}),
	);
	t.after(() => {
		for (const device of devices) device.close();
	});
	const headers = { ...bearer(monitorToken), "Content-Type": "application/json" };
	const labelled = { method: "PATCH", headers, body: '{"room":"Shop"}' };
	await Promise.all(devices.map(({ deviceId }) => fetch(`${url}/api/devices/${deviceId}`, labelled)));
	const page = await open(t, url, { view: "#/?view=list" });
	const shop = page.getByRole("region", { name: "Shop" });
	await shop.getByText("100", { exact: true }).waitFor();
	await shop.getByRole("button", { name: "Mute Shop" }).click();
	await page.getByText("Failed on 1 of 200 devices: ").waitFor();
	assert.deepEqual(
		devices.map(({ commands }) => commands),
		devices.map(() => [{ command: "set_volume", value: 0 }]),
	);
	assert.equal(await page.locator(".dock section").count(), 0, "no bar is left");
});

test("sends five values a second while a room's slider is dragged, and keeps the thumb under the pointer", {
	skip,
}, async (t) => {
	const { url, connect } = await setUp(t);
	const left = await connect("aaaaaa", "Kitchen", 20, { executesCommands: false });
	const right = await connect("bbbbbb", "Kitchen", 60, { executesCommands: false });
	const page = await open(t, url);
	const slider = page.getByRole("slider", { name: "Volume of Kitchen" });
	const box = await slider.boundingBox();
	assert.ok(box, "the slider is not visible");
	await page.clock.install();
	await page.clock.pauseAt(Date.now() + 10_000);
	const y = box.y + box.height / 2;
	await page.mouse.move(box.x + box.width * 0.6, y);
	await page.mouse.down();
	const steps = 100;
	for (let step = 1; step <= steps; step++) {
		await page.mouse.move(box.x + box.width * 0.6 * (1 - step / steps), y);
		await page.clock.runFor(20);
	}
	await page.clock.runFor(200);
	for (const device of [left, right]) {
		await device.receives({ command: "set_volume", value: 0 });
		assert.ok(device.commands.length > 5 && device.commands.length <= 11, `${device.commands.length} values`);
	}
	assert.equal(await slider.inputValue(), "0", "though the devices have not reported it");
	await page.mouse.up();
	await page.clock.runFor(200);
	assert.equal(await slider.inputValue(), "0", "as requested");
});
