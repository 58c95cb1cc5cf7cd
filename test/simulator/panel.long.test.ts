/** Panel of the simulated device: its pixels on the screen, and its Reset key. */

import assert from "node:assert/strict";
import { before, describe, type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { WebSocketServer } from "ws";
import type { PixelStrip } from "../../device/host.js";
import { type LedState, ledState, paint } from "../../device/peripherals/led-patterns.js";
import type { StateReport } from "../../device/protocol/messages.js";
import { onEnd } from "../support/cleanup.js";
import { whyMissing } from "../support/programs.js";
import { type Connection, runScriptedGateway, ScriptedGateway } from "../support/scripted-gateway.js";
import { type Builds, builds } from "./builds.js";
import { distance, PanelView } from "./panel-view.js";
import type { Color } from "./screen.js";
import { findSimulator, SimulatedDevice } from "./simulated.js";

const { sdk, reason } = findSimulator();
const skip = reason ?? whyMissing("xdotool");

/** Button positions of a DEV-1, in a window of 900 by 810. */
const playKey = ["652", "619"] as const;
const muteKey = ["568", "619"] as const;
/** Whether keys stay down. */
const keySwitch = ["145", "157"] as const;
const resetKey = ["160", "127"] as const;
/** Timeout for the panel to show the expected state. */
const patienceMs = 30_000;
/** Tolerance per channel for anti-aliasing and the light of the die. */
const tolerance = 10;

/** Colors that the firmware sends to the LEDs. */
class RecordedStrip implements PixelStrip {
	readonly length = 12;
	readonly colors: Color[] = [];

	makeRGB(red: number, green: number, blue: number): number {
		return (red << 16) | (green << 8) | blue;
	}

	setPixel(index: number, color: number): void {
		this.colors[index] = [color >> 16, (color >> 8) & 255, color & 255];
	}

	update(): void {}

	close(): void {}
}

/** Screen values for the light of an LED (IEC 61966-2-1). */
function onScreen(color: Color): Color {
	const [red, green, blue] = color.map((value) => {
		const light = value / 255;
		return 255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * light ** (1 / 2.4) - 0.055);
	});
	return [red ?? 0, green ?? 0, blue ?? 0];
}

/** LEDs of a state at a time after it began, at full brightness, as a screen shows them. */
function painted(state: LedState, timeMs = 0): readonly Color[] {
	const strip = new RecordedStrip();
	paint(strip, state, timeMs, 1);
	return strip.colors.map(onScreen);
}

/** Largest difference of a pixel. */
function difference(ring: readonly Color[], expected: readonly Color[]): number {
	return Math.max(...ring.map((color, index) => distance(color, expected[index] ?? [0, 0, 0])));
}

/** Waits until the panel shows the expected state. On timeout it fails with the actual one. */
async function shows<T>(
	device: SimulatedDevice,
	read: (view: PanelView) => T,
	predicate: (shown: T) => boolean,
) {
	const endMs = Date.now() + patienceMs;
	for (;;) {
		const shown = read(new PanelView(device.screen.capture()));
		if (predicate(shown)) return shown;
		if (Date.now() > endMs) assert.fail(`the panel shows ${JSON.stringify(shown)}`);
		await setTimeout(50);
	}
}

const ringOf = ({ ring }: PanelView) => ring;
const pillsOf = (view: PanelView) => `${view.pill("wifi")} ${view.pill("gateway")}`;

describe("panel in the Moddable simulator", { skip, timeout: 560_000, concurrency: 2 }, () => {
	let apps: Builds | undefined;
	before(async () => {
		if (sdk) apps = await builds(sdk, "DEV-1");
	});

	function start(t: TestContext, gateway: string) {
		if (!sdk || !apps) throw new Error("the Moddable SDK is not installed");
		return SimulatedDevice.start(t, { sdk, model: "DEV-1", app: apps.firmware, settings: { gateway } });
	}

	/** Starts a device and waits for its first report. */
	async function connected(t: TestContext) {
		const gateway = await runScriptedGateway(t);
		const device = await start(t, gateway.url);
		const connection = await gateway.connection();
		await connection.next("state_report");
		return { gateway, device, connection };
	}

	/** Presses a first key: before that mcsim lays out at each frame, which would hide a missing layout. */
	async function pressKey(device: SimulatedDevice, connection: Connection) {
		device.screen.input("mousemove", ...playKey, "mousedown", "1");
		await connection.next("state_report", ({ peripherals }) => peripherals.buttons.btn_play);
		device.screen.input("mouseup", "1");
		await connection.next("state_report", ({ peripherals }) => !peripherals.buttons.btn_play);
	}

	test("shows the colors that the firmware sets on the ring", async (t) => {
		const { device, connection } = await connected(t);
		connection.send({ command: "set_brightness", value: 1 });

		await shows(device, ringOf, (ring) => {
			for (let timeMs = 0; timeMs < 2000; timeMs += 5)
				if (difference(ring, painted(ledState.connected, timeMs)) <= tolerance) return true;
			return false;
		});
		for (const [preset, state] of [
			["failed", ledState.wifiFailed],
			["connecting", ledState.serverConnecting],
		] as const) {
			connection.send({ command: "set_led", value: preset });
			await shows(device, ringOf, (ring) => difference(ring, painted(state)) <= tolerance);
		}
	});

	test("updates the connection pills without an event", async (t) => {
		const { gateway, device, connection } = await connected(t);
		await pressKey(device, connection);
		await shows(device, pillsOf, (pills) => pills === "good good");
		const port = Number(new URL(gateway.url).port);
		for (const client of gateway.server.clients) client.terminate();
		gateway.server.close();
		await shows(device, pillsOf, (pills) => pills === "good bad");
		const again = new ScriptedGateway(t, new WebSocketServer({ host: "127.0.0.1", port }));
		onEnd(t, () => again.server.close());
		await (await again.connection()).next("state_report");
		await shows(device, pillsOf, (pills) => pills === "good good");
	});

	test("shows the mute sign while the volume is 0, without an event", async (t) => {
		const { device, connection } = await connected(t);
		await pressKey(device, connection);
		for (const volume of [40, 0, 60]) {
			connection.send({ command: "set_volume", value: volume });
			await shows(
				device,
				({ hasMuteSign, volumeBar }) => ({ hasMuteSign, length: volumeBar }),
				({ hasMuteSign, length }) => hasMuteSign === (volume === 0) && Math.abs(length - 0.96 * volume) <= 5,
			);
		}
	});

	test("logs a command and the lost connection without an event", async (t) => {
		const { device, connection } = await connected(t);
		await pressKey(device, connection);
		const logged = (view: PanelView) => [view.hasLogged("command"), view.hasLogged("problem")].join();
		await shows(device, logged, (kinds) => kinds === "false,false");
		connection.send({ command: "set_volume", value: 40 });
		await shows(device, logged, (kinds) => kinds === "true,false");
		connection.socket.terminate();
		await shows(device, logged, (kinds) => kinds === "true,true");
	});

	test("restarts the firmware by the Reset key", { timeout: 60_000 }, async (t) => {
		const { gateway, device, connection } = await connected(t);
		const { health } = await connection.next("state_report", ({ health }) => health.uptime_seconds >= 5);
		assert.equal(health.reset_reason, "POWERON_RESET");
		device.screen.input("mousemove", ...resetKey, "click", "1");
		await connection.closed;
		const again = await (await gateway.connection()).next("state_report");
		assert.equal(again.health.reset_reason, "EXT_RESET");
		assert.ok(again.health.uptime_seconds < health.uptime_seconds, `${again.health.uptime_seconds} s`);
	});

	test("holds several keys that stay down, which erases the settings", async (t) => {
		const { gateway, device, connection } = await connected(t);
		device.screen.input("mousemove", ...keySwitch, "click", "1");
		for (const key of [playKey, muteKey]) device.screen.input("mousemove", ...key, "click", "1");
		const held = ({ btn_play, btn_mute }: StateReport["peripherals"]["buttons"]) => btn_play && btn_mute;
		await connection.next("state_report", ({ peripherals }) => held(peripherals.buttons));
		device.screen.input("mousemove", ...playKey, "click", "1");
		await connection.next("state_report", ({ peripherals }) => !peripherals.buttons.btn_play);
		device.screen.input("mousemove", ...keySwitch, "click", "1");
		await connection.next("state_report", ({ peripherals }) => !peripherals.buttons.btn_mute);

		device.screen.input("click", "1");
		for (const key of [playKey, muteKey]) device.screen.input("mousemove", ...key, "click", "1");
		await device.traced(/^factory reset: play and mute were held, all settings are erased$/);
		await connection.closed;
		await device.traced(/^no settings/);
		assert.equal(device.kept.settings.token, undefined);
		assert.equal(gateway.server.clients.size, 0);
	});
});
