import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { models } from "../../device/protocol/schema.js";
import { skip } from "../support/chromium.js";
import { runFleet } from "../support/fleet.js";
import { runGateway } from "../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../support/scripted-device.js";
import { browsing } from "./browsing.js";

const open = browsing();

/** Waits until a control shows this text and is neither pending nor rejected. */
async function settles(control: Locator, text: string): Promise<void> {
	await control.getByText(text, { exact: true }).first().waitFor();
	await control.locator(".sending").waitFor({ state: "detached" });
	assert.equal(await control.locator(".problem:not(:empty)").count(), 0);
}

function slider(page: Page, label: string): { control: Locator; input: Locator } {
	const control = page.locator(".control", { has: page.getByLabel(label, { exact: true }) });
	return { control, input: control.getByRole("slider") };
}

for (const model of models)
	describe(`page of a ${model} in XS`, { skip }, () => {
		test("sets volume, brightness and ring, as the device's own report confirms", async (t) => {
			const { url, powerOn } = await runFleet(t);
			const { deviceId, report, device } = await powerOn(model);
			const page = await open(t, url, { view: `#/device/${deviceId}` });

			const volume = slider(page, "Volume");
			await volume.input.fill("37");
			await settles(volume.control, "37");
			await report(({ peripherals }) => peripherals.audio.volume === 37);

			const brightness = slider(page, "Brightness");
			await brightness.input.fill("80");
			await settles(brightness.control, "80");
			await report(({ peripherals }) => peripherals.led_ring.brightness_coef === 0.8);

			const ring = page.getByRole("group", { name: "LED ring" });
			for (const [name, state, look] of [
				["Off", "idle", "off"],
				["Failed", "failed", "red, 80%"],
				["Connecting", "connecting", "flashing orange, 80%"],
				["Updating", "updating", "pulsing blue, 80%"],
				["Rainbow", "rainbow", "rainbow, 80%"],
			] as const) {
				await ring.getByRole("button", { name }).click();
				await report(({ peripherals }) => peripherals.led_ring.state_name === state);
				await page.getByRole("img", { name: `LED ring: ${look}` }).waitFor();
				await page.locator(".sending").waitFor({ state: "detached" });
				await ring.getByRole("button", { name, pressed: true }).waitFor();
			}
			assert.notEqual(device.board.frameCount, 0);
		});

		test("uses the ring as a light: color, effect and off; on a PROTO-1 adapts it to room light", async (t) => {
			const { url, powerOn } = await runFleet(t);
			const { deviceId, report } = await powerOn(model);
			const page = await open(t, url, { view: `#/device/${deviceId}` });
			const light = page.getByRole("region", { name: "Light" });
			const preset = light.getByRole("button", { name: "Rainbow" });
			await preset.and(page.locator("[aria-pressed=true]")).waitFor();
			await page.getByLabel("Custom color").fill("#ff8811");
			await report(({ peripherals }) => peripherals.led_ring.light?.color === "#ff8811");
			await light.getByRole("button", { name: "Orange" }).click();
			await report(({ peripherals }) => peripherals.led_ring.light?.color === "#ff8800");
			await page.getByRole("img", { name: "LED ring: light #ff8800, solid, 50%" }).waitFor();
			await light.getByRole("button", { name: "Orange", pressed: true }).waitFor();
			await preset.and(page.locator("[aria-pressed=false]")).waitFor();
			await light.getByRole("button", { name: "Blink" }).click();
			await report(({ peripherals }) => peripherals.led_ring.light?.effect === "blink");
			await light.getByRole("button", { name: "Blink", pressed: true }).waitFor();
			await light.getByRole("button", { name: "Clear" }).click();
			await report(({ peripherals }) => peripherals.led_ring.light === undefined);
			await page.getByRole("img", { name: "LED ring: rainbow, 50%" }).waitFor();
			const follows = page.getByLabel("Adapt to room light");
			if (model === "DEV-1") return assert.equal(await follows.count(), 0);
			await follows.check();
			await report(({ peripherals }) => peripherals.led_ring.auto_brightness === true);
			await follows.uncheck();
			await report(({ peripherals }) => peripherals.led_ring.auto_brightness === undefined);
		});

		test("plays each chime", async (t) => {
			const { url, powerOn } = await runFleet(t);
			const { deviceId, device } = await powerOn(model);
			const page = await open(t, url, { view: `#/device/${deviceId}` });
			const overview = page.getByRole("region", { name: "Overview" });
			for (const name of ["Play “Start-up”", "Play “Wi-Fi connecting”", "Play “Wi-Fi connected”"]) {
				const played = new Promise<void>((resolve) => {
					const ignore = device.board.listen({
						onSound: (sound) => {
							if (sound) return;
							ignore();
							resolve();
						},
					});
				});
				await overview.locator("summary", { hasText: "More" }).click();
				await overview.getByRole("button", { name, exact: true }).click();
				await played;
				await overview.getByText("Connected", { exact: true }).waitFor();
				await overview.locator(".sending").waitFor({ state: "detached" });
			}
		});

		test("shows changes made by buttons and sensors", async (t) => {
			const { url, powerOn } = await runFleet(t);
			const { deviceId, device } = await powerOn(model);
			const page = await open(t, url, { view: `#/device/${deviceId}/diagnostics` });
			const inputs = page.getByRole("region", { name: "Buttons and sensors" });
			const buttons = { play: "Play", mute: "Mute", volumeUp: "Volume +", volumeDown: "Volume −" } as const;
			for (const name of ["play", "mute", "volumeUp", "volumeDown"] as const) {
				await inputs.getByText(`${buttons[name]} not pressed`).waitFor();
				device.board.setButton(name, true);
				await inputs.getByText(`${buttons[name]} pressed`, { exact: true }).waitFor();
				device.board.setButton(name, false);
				await inputs.getByText(`${buttons[name]} not pressed`).waitFor();
			}
			const extras = await inputs.getByText(/^Touch|^Light$/).count();
			if (model === "DEV-1") return assert.equal(extras, 0);
			device.board.isTouched = true;
			await inputs.getByText("Touch touched").waitFor();
			device.board.light = 3210;
			await inputs.getByText("3210").waitFor();
			await page.getByRole("link", { name: "Overview" }).click();
			const haptics = slider(page, "Haptics");
			await haptics.input.fill("60");
			await settles(haptics.control, "60");
			assert.notEqual(device.board.hapticDuty, 0);
		});

		test("restarts its connection, and requests a report", async (t) => {
			const { url, powerOn, monitorClient } = await runFleet(t);
			const { deviceId } = await powerOn(model);
			const page = await open(t, url, { view: `#/device/${deviceId}` });
			const overview = page.getByRole("region", { name: "Overview" });
			await page.getByText(/^Connected/).waitFor();
			await overview.locator("summary", { hasText: "More" }).click();
			await overview.getByRole("button", { name: "Reconnect" }).click();
			await overview.getByText("sending").waitFor();
			const boot = await monitorClient.change("boot");
			const back = await monitorClient.change("connected");
			assert.notEqual(boot.sessionId, back.sessionId);
			await overview.locator(".sending").waitFor({ state: "detached" });
			await page.getByRole("link", { name: "Diagnostics" }).click();
			await page.getByText("Technical details").click();
			await page.getByText(back.sessionId).waitFor();
			assert.equal(await overview.locator(".problem:not(:empty)").count(), 0);

			const log = page.getByRole("region", { name: "Log" });
			await overview.locator("summary", { hasText: "More" }).click();
			await overview.getByRole("button", { name: "Refresh" }).click();
			await log.locator("summary", { hasText: "Report" }).nth(1).waitFor();
		});

		test("shows a restart until the device is back with a new uptime", async (t) => {
			const { url, powerOn, monitorClient } = await runFleet(t);
			const { deviceId, device } = await powerOn(model);
			const page = await open(t, url, { view: `#/device/${deviceId}` });
			const overview = page.getByRole("region", { name: "Overview" });
			await page.getByText(/^Connected/).waitFor();
			await overview.locator("summary", { hasText: "More" }).click();
			await overview.getByRole("button", { name: "Restart" }).click();
			await overview.getByText("restarting").waitFor();
			const back = await monitorClient.change("connected");
			await overview.locator(".sending").waitFor({ state: "detached" });
			assert.equal(await overview.locator(".problem:not(:empty)").count(), 0);
			assert.equal(device.started.resetReason, "SW_RESET");
			assert.equal(back.crashCount, undefined);
			await page.getByRole("link", { name: "Diagnostics" }).click();
			await page.getByText("Restarted by firmware").waitFor();
		});
	});

describe("control", { skip }, () => {
	async function setUp(
		t: Parameters<typeof open>[0],
		options: Partial<ScriptedDeviceOptions> = {},
		view = "#/device/proto-1-5c02fe",
	) {
		const { url } = await runGateway(t);
		const device = await new ScriptedDevice({
			url,
			deviceId: "proto-1-5c02fe",
			model: "PROTO-1",
			...options,
		}).connect();
		t.after(() => device.close());
		const page = await open(t, url, { view });
		return { device, page, volume: slider(page, "Volume") };
	}

	test('shows "sending" until the report confirms it, even when other fields are reported', async (t) => {
		const { device, volume } = await setUp(t, { executesCommands: false });
		await volume.input.fill("80");
		await volume.control.getByText("sending").waitFor();
		device.report({ "peripherals.audio.volume": 51 });
		device.report({ "peripherals.audio.volume": 52 });
		assert.equal(await volume.input.inputValue(), "80");
		await volume.control.getByText("sending").waitFor();
		device.report({ "peripherals.audio.volume": 80 });
		await settles(volume.control, "80");
	});

	test("shows that a chime plays, and that it has ended", async (t) => {
		const { device, page } = await setUp(t);
		const overview = page.getByRole("region", { name: "Overview" });
		await overview.getByText("Connected", { exact: true }).waitFor();
		device.report({ "peripherals.audio.player_state": "playing" });
		await overview.getByText("Playing", { exact: true }).waitFor();
		device.report({ "peripherals.audio.player_state": "idle" });
		await overview.getByText("Connected", { exact: true }).waitFor();
	});

	test("is reverted with the reason when the device disconnects, and disabled until it reconnects", async (t) => {
		const { device, volume } = await setUp(t, { executesCommands: false });
		const reason = volume.control.getByText("The device disconnected before confirming the command.");
		await volume.input.fill("80");
		await volume.control.getByText("sending").waitFor();
		device.close();
		await reason.waitFor();
		assert.equal(await volume.input.inputValue(), "50");
		assert.equal(await volume.input.isDisabled(), true);
		await device.connect();
		await volume.control.locator("input:enabled").waitFor();
		await volume.control.getByRole("button", { name: "Dismiss" }).click();
		await reason.waitFor({ state: "detached" });
	});

	const sentVolumes = ({ commands }: ScriptedDevice) =>
		commands.filter(({ command }) => command === "set_volume").map(({ value }) => value);

	/** Installs a clock in the page that only `runFor` advances. */
	const stopClock = async (page: Page) => {
		await page.clock.install();
		await page.clock.pauseAt(Date.now() + 10_000);
	};

	for (const [where, view] of [
		["on the page of its device", "#/device/proto-1-5c02fe"],
		["in a list", "#/"],
	] as const) {
		test(`sends five values a second while it is dragged ${where}, and always the last one`, async (t) => {
			const { device, page } = await setUp(t, {}, view);
			const input = page.getByRole("slider", { name: "Volume" });
			const box = await input.boundingBox();
			assert.ok(box, "the slider is not visible");
			await stopClock(page);
			const y = box.y + box.height / 2;
			await page.mouse.move(box.x + box.width / 2, y);
			await page.mouse.down();
			const steps = 100;
			for (let step = 1; step <= steps; step++) {
				await page.mouse.move(box.x + (box.width / 2) * (1 - step / steps), y);
				await page.clock.runFor(20);
			}
			await page.mouse.up();
			await page.clock.runFor(200);
			await device.receives({ command: "set_volume", value: 0 });
			const volumes = sentVolumes(device);
			// In two seconds: one immediately, then one every 200 ms.
			assert.ok(volumes.length > 5 && volumes.length <= 11, `${volumes.length} values: ${volumes}`);
		});

		test(`sends the result of several key presses once ${where}`, async (t) => {
			const { device, page } = await setUp(t, {}, view);
			await page.getByRole("slider", { name: "Volume" }).focus();
			await stopClock(page);
			for (let press = 0; press < 5; press++) {
				await page.keyboard.press("ArrowRight");
				await page.clock.runFor(300);
			}
			assert.deepEqual(sentVolumes(device), []);
			await page.clock.runFor(100);
			await device.receives({ command: "set_volume", value: 55 });
			assert.deepEqual(sentVolumes(device), [55]);
		});
	}

	test("works by keyboard alone", async (t) => {
		const { device, page, volume } = await setUp(t);
		await volume.input.focus();
		await page.keyboard.press("ArrowRight");
		await device.receives({ command: "set_volume", value: 51 });
		await settles(volume.control, "51");
		await page.getByRole("button", { name: "Off" }).focus();
		await page.keyboard.press("Shift+Tab");
		await page.keyboard.press("Space");
		// The page shows it as soon as it is sent.
		await page.locator(".sending").waitFor({ state: "attached" });
		await device.receives({ command: "set_led", value: "updating" });
		device.report({ "peripherals.led_ring.state_id": 6, "peripherals.led_ring.state_name": "updating" });
		await page.locator(".sending").waitFor({ state: "detached" });
	});
});

describe("device log", { skip }, () => {
	test("can be filtered and paused, and shows each message in full", async (t) => {
		const { url } = await runGateway(t);
		const device = await new ScriptedDevice({ url, deviceId: "dev-1-a1b2c3" }).connect();
		t.after(() => device.close());
		const page = await open(t, url, { view: "#/devices/dev-1-a1b2c3/log" });
		const log = page.getByRole("region", { name: "Log" });
		await log.getByText("No messages since").waitFor();
		// The report is shown, so the page has subscribed to messages.
		await page.getByRole("slider", { name: "Volume" }).and(page.locator(":enabled")).waitFor();
		device.refuse("set_led", "busy with 42");
		device.report({ "network.wifi_ssid": "attic" });
		await log.getByText("2 lines").waitFor();

		await log.getByLabel("Show").selectOption("command_error");
		await log.getByText("1 line", { exact: true }).waitFor();
		await log.locator("summary").click();
		await log.locator("pre", { hasText: '"message": "busy with 42"' }).waitFor();
		await log.getByLabel("Show").selectOption("");
		await log.getByLabel("Search the log").fill("ATTIC");
		await log.getByText("1 line", { exact: true }).waitFor();
		await log.getByLabel("Search the log").fill("");

		await log.getByRole("button", { name: "Pause" }).click();
		device.report({ "network.wifi_ssid": "cellar" });
		await log.getByText("Paused, 1 line since").waitFor();
		assert.equal(await log.getByText("cellar").count(), 0);
		await log.getByRole("button", { name: "Pause" }).click();
		await log.getByText("cellar").first().waitFor();
	});

	test("is copied unchanged", async (t) => {
		const { url } = await runGateway(t);
		const device = await new ScriptedDevice({ url, deviceId: "dev-1-a1b2c3" }).connect();
		t.after(() => device.close());
		const page = await open(t, url, {
			view: "#/devices/dev-1-a1b2c3/log",
			permissions: ["clipboard-read", "clipboard-write"],
		});
		const log = page.getByRole("region", { name: "Log" });
		await log.getByText("No messages since").waitFor();
		await page.getByRole("slider", { name: "Volume" }).and(page.locator(":enabled")).waitFor();
		device.send({ type: "ota_error", reason: 'a "message": in it', extra: [1, { deep: null }] });
		await log.getByText('a "message": in it').first().waitFor();
		await log.getByRole("button", { name: "Copy all" }).click();
		await page.locator(".toasts").getByText("Copied").waitFor();
		const copied: string = await page.evaluate("navigator.clipboard.readText()");
		assert.equal(
			copied.split("\n").at(-1),
			'{"type":"ota_error","reason":"a \\"message\\": in it","extra":[1,{"deep":null}]}',
		);
	});

	test("is plotted", async (t) => {
		const { url } = await runGateway(t);
		const device = await new ScriptedDevice({ url, deviceId: "proto-1-a1b2c3", model: "PROTO-1" }).connect();
		t.after(() => device.close());
		const page = await open(t, url, { view: "#/devices/proto-1-a1b2c3/history" });
		const plots = page.getByRole("region", { name: "Last 24 hours" });
		await plots.locator(".plot svg").nth(2).waitFor();
		device.report({
			"network.wifi_rssi": -71,
			"health.free_heap_bytes": 102_400,
			"health.min_free_heap_bytes": 81_920,
			"peripherals.ambient_light": 4000,
		});
		for (const text of ["Signal −71 dBm", "Free memory 100 KB", "Light 4000"])
			await plots.locator("figcaption", { hasText: text }).waitFor();
	});
});
