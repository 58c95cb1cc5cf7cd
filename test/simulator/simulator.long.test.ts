/** Firmware preloaded into XS by the Moddable SDK, in its desktop simulator, with gateways on real sockets. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { type Model, models } from "../../device/protocol/schema.js";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { projectFolder } from "../../scripts/command-line/project.js";
import { listen } from "../support/ports.js";
import { whyMissing } from "../support/programs.js";
import { sendRange } from "../support/ranges.js";
import { runScriptedGateway } from "../support/scripted-gateway.js";
import { type Builds, builds } from "./builds.js";
import { findSimulator, SimulatedDevice, testToken } from "./simulated.js";

const { sdk, reason } = findSimulator();
const skip = reason ?? false;
const skipMouse = skip || whyMissing("xdotool");

/** Positions in a window of 900 by 810 with the panel centered. */
const places = Object.freeze({
	gatewaySwitch: ["145", "97"],
	play: ["652", "619"],
	touchPad: ["727", "690"],
	lightSliderEnd: ["265", "127"],
});

describe("firmware in the Moddable simulator", { skip, timeout: 560_000 }, () => {
	const built = new Map<Model, Builds>();

	before(async () => {
		if (!sdk) return;
		// The DEV-1 last, because other test files build it at the same time.
		for (const model of ["PROTO-1", "DEV-1"] as const) built.set(model, await builds(sdk, model));
	});

	const buildOf = (model: Model): Builds => {
		const build = built.get(model);
		if (!build) throw new Error(`${model} was not built`);
		return build;
	};
	const start = (t: TestContext, model: Model, gateway: string): Promise<SimulatedDevice> => {
		if (!sdk) throw new Error("the Moddable SDK is not installed");
		return SimulatedDevice.start(t, { sdk, model, app: buildOf(model).firmware, settings: { gateway } });
	};

	for (const model of models) {
		const hasSensors = model === "PROTO-1";

		test(`${model}: the linker prints no warning for the project's modules`, () => {
			const { output } = buildOf(model);
			assert.match(output, /# xsl modules/);
			const { preload } = JSON.parse(readFileSync(join(projectFolder, "manifest.json"), "utf8"));
			const others = output.match(/^### warning: (simulator|moddable|setup|tls)\/[\w-]+:.*$/gm);
			const ours = preload.filter((name: string) => output.includes(`### warning: ${name}: `));
			assert.deepEqual([ours, others], [[], null]);
		});

		test(`${model}: identifies itself and reports its state`, async (t) => {
			const gateway = await runScriptedGateway(t);
			const device = await start(t, model, gateway.url);
			const connection = await gateway.connection();
			const report = await connection.next("state_report");
			assert.equal(report.system.mac_address, device.kept.macAddress);
			assert.match(report.deviceId, new RegExp(`^${model.toLowerCase()}-[0-9a-f]{12}$`));
			const { headers } = connection;
			assert.equal(headers.authorization, `Bearer ${testToken}`);
			assert.equal(headers["device-id"], report.deviceId);
			assert.equal(headers["device-model"], model);
			assert.equal(headers["device-chip"], "virtual");
			assert.equal(headers["protocol-version"], "1");
			assert.equal(`ws://${headers.host}/device`, gateway.url);
			assert.equal(report.system.model, model);
			assert.equal(report.health.reset_reason, "POWERON_RESET");
			assert.equal(report.network.wifi_ssid, "Simulated");
			assert.equal(report.network.websocket_connected, true);
			assert.equal(report.peripherals.led_ring.state_name, "rainbow");
			for (const field of ["haptic_intensity", "ambient_light", "touch_active"])
				assert.equal(Object.hasOwn(report.peripherals, field), hasSensors, field);
			assert.ok(Math.abs(Date.now() - Date.parse(report.timestamp)) < 60_000, report.timestamp);
		});

		test(`${model}: plays chimes, reports its heap, and stores settings`, async (t) => {
			const gateway = await runScriptedGateway(t);
			const device = await start(t, model, gateway.url);
			const connection = await gateway.connection();
			await connection.next("state_report");

			connection.send({ command: "set_volume", value: 31 });
			await connection.next("state_report", ({ peripherals }) => peripherals.audio.volume === 31);
			connection.send({ command: "set_brightness", value: 0.25 });
			await connection.next(
				"state_report",
				({ peripherals }) => peripherals.led_ring.brightness_coef === 0.25,
			);
			connection.send({ command: "play_audio", value: "wifi_connected" });
			const playing = await connection.next(
				"state_report",
				({ peripherals }) => peripherals.audio.player_state === "playing",
			);
			assert.equal(playing.peripherals.audio.current_track, "file:///chimes/wifi_connected");
			const silent = await connection.next(
				"state_report",
				({ peripherals }) => peripherals.audio.player_state === "idle",
			);
			assert.equal(silent.peripherals.audio.current_track, "none");

			const { health } = await connection.query();
			assert.ok(health.min_free_heap_bytes > 50_000, `${health.min_free_heap_bytes} bytes`);
			assert.ok(health.free_heap_bytes >= health.min_free_heap_bytes, `${health.free_heap_bytes} bytes`);
			assert.ok(health.free_heap_bytes < 600_000, `${health.free_heap_bytes} bytes`);

			while (device.kept.settings.volume !== "31" || device.kept.settings.brightness !== "0.25")
				await setTimeout(100, undefined, { signal: t.signal });
		});
	}

	test("reports a password that the access point rejected", async (t) => {
		if (!sdk) throw new Error("the Moddable SDK is not installed");
		const settings = { gateway: "ws://127.0.0.1:9/device", password: "wrong-password" };
		const app = buildOf("DEV-1").firmware;
		const device = await SimulatedDevice.start(t, { sdk, model: "DEV-1", app, settings });
		await device.traced(/^Wi-Fi: the access point "Simulated" rejected the password$/);
	});

	test("receives and verifies an update up to the restart, which a desktop lacks", async (t) => {
		const gateway = await runScriptedGateway(t);
		const image = makeVirtualImage(Buffer.alloc(100_000), "DEV-1", "2.0.0");
		const server = createServer((request, response) => sendRange(request, response, image));
		const port = await listen(t, server);
		await start(t, "DEV-1", gateway.url);
		const connection = await gateway.connection();
		await connection.next("state_report");
		connection.send({ command: "start_ota", url: `http://127.0.0.1:${port}/firmware` });
		const { reason: why } = await connection.next("ota_error");
		assert.match(why, /rejected the firmware: the Moddable simulator cannot start an updated image/);
	});

	test("reads light and touch from the panel", { skip: skipMouse }, async (t) => {
		const gateway = await runScriptedGateway(t);
		const device = await start(t, "PROTO-1", gateway.url);
		const connection = await gateway.connection();
		const { ambient_light, touch_active } = (await connection.next("state_report")).peripherals;
		assert.deepEqual({ ambient_light, touch_active }, { ambient_light: 1500, touch_active: false });
		device.screen.input("mousemove", ...places.lightSliderEnd, "click", "1");
		device.screen.input("mousemove", ...places.touchPad, "mousedown", "1");
		await connection.next("state_report", ({ peripherals }) => peripherals.touch_active === true);
		await connection.next("state_report", ({ peripherals }) => (peripherals.ambient_light ?? 0) > 3800);
		device.screen.input("mouseup", "1");
		await connection.next("state_report", ({ peripherals }) => peripherals.touch_active === false);
	});

	test("retries while the gateway is unreachable with Wi-Fi connected", {
		skip: skipMouse,
	}, async (t) => {
		const gateway = await runScriptedGateway(t);
		const device = await start(t, "DEV-1", gateway.url);
		const connection = await gateway.connection();
		await connection.next("state_report");
		const beforeCut = device.trace.length;
		device.screen.input("mousemove", ...places.gatewaySwitch, "click", "1");
		await connection.closed;
		await device.traced(/^gateway: no connection to 127\.0\.0\.1/);
		device.screen.input("click", "1");
		await device.traced(/^next attempt to reach the gateway in \d+\.\d s$/);
		const back = await (await gateway.connection()).next("state_report");
		assert.equal(back.network.websocket_connected, true);
		const since = device.trace.slice(beforeCut);
		assert.ok(since.includes("gateway: the connection was lost"), since.join("\n"));
		assert.ok(!since.some((line) => line.startsWith("Wi-Fi")), since.join("\n"));
	});
});
