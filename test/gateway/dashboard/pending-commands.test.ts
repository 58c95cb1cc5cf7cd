import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { keysOf } from "../../../device/protocol/schema.js";
import { type ConfirmableCommand, commandEntries, isConfirmable } from "../../../gateway/api/commands.js";
import { endOf } from "../../../gateway/api/confirmation.js";
import { newSettings, PendingCommands } from "../../../gateway/dashboard/page/model/pending-commands.js";
import type { Json } from "../../support/sample-report.js";
import { stateReport } from "./state-report.js";

const deviceId = "proto-1-a1b2c3";

const report = (changes: Readonly<Record<string, Json>> = {}) => stateReport("PROTO-1", changes);

/** Response of the gateway: accepted, or rejected with a message. */
type Answer = "accepted" | Error;

/** Pending commands with a response and a clock that the test controls. */
function setUp(t: TestContext) {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const answers: ((answer: Answer) => void)[] = [];
	const clock = { now: 0 };
	const pending = new PendingCommands({ now: () => clock.now, onChanged: () => {} });
	const answer = async (response: Answer = "accepted") => {
		answers.shift()?.(response);
		await new Promise(setImmediate);
	};
	const respond = () =>
		new Promise<void>((resolve, reject) =>
			answers.push((answer) => (answer === "accepted" ? resolve() : reject(answer))),
		);
	const ask = (asked: ConfirmableCommand) => pending.start(deviceId, asked, respond);
	const volume = () => pending.get(deviceId, "set_volume");
	const setVolume = (value: number) => void ask({ command: "set_volume", value });
	const trySettings = (send = respond) => pending.start(deviceId, newSettings, send);
	const settings = () => pending.get(deviceId, "set_settings");
	/** Lets the time pass in which a confirmation is expected. */
	const expire = () => t.mock.timers.tick(10 * 60_000);
	return { pending, ask, trySettings, settings, answer, expire, clock, volume, setVolume };
}

describe("command to a device", () => {
	test("is pending until the device's report confirms it", async (t) => {
		const { pending, answer, volume, setVolume, expire } = setUp(t);
		setVolume(30);
		pending.onEvent(deviceId, report());
		await answer();
		assert.deepEqual(volume()?.ask, { command: "set_volume", value: 30 });
		assert.equal(volume()?.reason, null);
		pending.onEvent("another", report({ "peripherals.audio.volume": 30 }));
		assert.notEqual(volume(), undefined, "affected by another device");
		pending.onEvent(deviceId, report({ "peripherals.audio.volume": 30 }));
		expire();
		assert.equal(volume(), undefined);
	});

	test("is reverted with the reason of the gateway", async (t) => {
		const { answer, volume, setVolume } = setUp(t);
		setVolume(30);
		await answer(new Error("it is not connected"));
		assert.equal(volume()?.reason, "It is not connected.");
	});

	test("is reverted with the reason of the device, only for the named field", async (t) => {
		const { pending, answer, volume, setVolume } = setUp(t);
		setVolume(30);
		await answer();
		const error = { type: "command_error", deviceId, code: "busy" } as const;
		pending.onEvent(deviceId, { ...error, command: "set_led", message: "an update runs" });
		assert.equal(volume()?.reason, null);
		pending.onEvent(deviceId, { ...error, command: "set_volume", message: "an update runs" });
		assert.equal(volume()?.reason, "An update runs.");
		pending.onEvent(deviceId, report({ "peripherals.audio.volume": 30 }));
		assert.equal(volume()?.reason, "An update runs.", "rejection hidden before it is dismissed");
		pending.dismiss(deviceId, "set_volume");
		assert.equal(volume(), undefined);
	});

	test("is reverted if not confirmed in time", async (t) => {
		const { answer, volume, setVolume, expire } = setUp(t);
		setVolume(30);
		await answer();
		expire();
		assert.equal(volume()?.reason, "The device did not confirm the command in time.");
	});

	test("is reverted on a disconnect, except for a reconnect command", async (t) => {
		const { pending, ask, volume, setVolume } = setUp(t);
		setVolume(30);
		void ask({ command: "boot_device" });
		pending.onEvent(deviceId, { type: "gone" });
		assert.match(volume()?.reason ?? "", /disconnected/);
		assert.equal(pending.get(deviceId, "boot_device")?.reason, null);
		pending.onEvent(deviceId, { type: "connected" });
		assert.equal(pending.get(deviceId, "boot_device"), undefined);
	});

	test("is confirmed for a restart only by a report of a later start", async (t) => {
		const { pending, ask, answer, clock } = setUp(t);
		const restart = () => pending.get(deviceId, "restart");
		const reportAt = (now: number, uptimeSeconds: number) => {
			clock.now = now;
			pending.onEvent(deviceId, report({ "health.uptime_seconds": uptimeSeconds }));
		};
		const ended = ask({ command: "restart" });
		await answer();
		reportAt(400, 3);
		pending.onEvent(deviceId, { type: "gone" });
		pending.onEvent(deviceId, { type: "connected" });
		reportAt(9_000, 12);
		assert.equal(restart()?.reason, null, "only reconnected");
		reportAt(12_000, 9);
		assert.equal(restart(), undefined);
		assert.equal((await ended).status, "done");
	});

	test("times out for a restart if the device does not return", async (t) => {
		const { pending, ask, expire } = setUp(t);
		void ask({ command: "restart" });
		pending.onEvent(deviceId, { type: "gone" });
		expire();
		assert.equal(pending.get(deviceId, "restart")?.reason, "The device did not restart in time.");
	});

	test("is not reverted by a failure of an earlier one", async (t) => {
		const { answer, volume, setVolume } = setUp(t);
		setVolume(1);
		setVolume(2);
		await answer(new Error("send less"));
		assert.equal(volume()?.reason, null);
	});
});

describe("new settings", () => {
	const result = { type: "settings_result", deviceId } as const;

	test("are on trial from the response, across a restart, until the device keeps them", async (t) => {
		const { pending, trySettings, settings, answer, clock, expire } = setUp(t);
		const ended = trySettings();
		assert.deepEqual([settings()?.status, settings()?.endsAt], ["pending", undefined]);
		clock.now = 1000;
		await answer();
		assert.deepEqual([settings()?.status, settings()?.endsAt], ["pending", 121_000]);
		pending.onEvent(deviceId, { type: "gone" });
		pending.onEvent(deviceId, { type: "connected" });
		pending.onEvent(deviceId, report());
		assert.deepEqual(pending.pending(), [deviceId]);
		pending.onEvent(deviceId, { ...result, outcome: "kept" });
		assert.equal((await ended).status, "done");
		expire();
		assert.equal(settings(), undefined);
		assert.deepEqual(pending.pending(), []);
	});

	test("are named by their labels if invalid", async (t) => {
		const { trySettings, settings, answer } = setUp(t);
		void trySettings();
		await answer(new Error("set_settings: value.ssid must be a string"));
		assert.equal(settings()?.reason, "Wi-Fi name must be a string.");
	});

	test("are not sent while others are on trial", async (t) => {
		const { pending, trySettings, answer } = setUp(t);
		const first = trySettings();
		await answer();
		const never = () => assert.fail("sent");
		assert.equal((await trySettings(never)).reason, "Other settings are being tried.");
		pending.onEvent(deviceId, { ...result, outcome: "returned", reason: "no gateway answered" });
		assert.deepEqual(await first, { ask: newSettings, status: "failed", reason: "No gateway answered." });
	});

	test("show a failure reason, or a missing result", async (t) => {
		const { trySettings, settings, answer, expire } = setUp(t);
		await trySettings(() => Promise.reject(new Error("no token was made")));
		assert.equal(settings()?.reason, "No token was made.");
		const ended = trySettings();
		await answer();
		expire();
		assert.match((await ended).reason ?? "", /^No result received\./);
	});
});

test("confirms each command by its changed report field", () => {
	const cases: readonly (readonly [ConfirmableCommand, Readonly<Record<string, Json>>])[] = [
		[{ command: "set_volume", value: 7 }, { "peripherals.audio.volume": 7 }],
		[{ command: "set_brightness", value: 0.7 }, { "peripherals.led_ring.brightness_coef": 0.7 }],
		[{ command: "set_led", value: "idle" }, { "peripherals.led_ring.state_name": "idle" }],
		[{ command: "set_haptics", value: 9 }, { "peripherals.haptic_intensity": 9 }],
		[
			{ command: "play_audio", value: "startup" },
			{
				"peripherals.audio.player_state": "playing",
				"peripherals.audio.current_track": "file:///chimes/startup",
			},
		],
	];
	for (const [ask, change] of cases) {
		assert.equal(endOf(ask, report(), 0), undefined, ask.command);
		assert.equal(endOf(ask, report(change), 0)?.state, "done", ask.command);
	}
	assert.equal(endOf({ command: "query_state" }, report(), 0)?.state, "done");
});

test("provides a control for each command confirmed by a report or connection", () => {
	const folder = "gateway/dashboard/page";
	const sources = readdirSync(folder, { recursive: true, encoding: "utf8" })
		.filter((name) => name.endsWith(".tsx"))
		.map((name) => readFileSync(join(folder, name), "utf8"))
		.join();
	const missing = keysOf(commandEntries).filter(
		(name) => isConfirmable(name) && !sources.includes(`"${name}"`),
	);
	assert.deepEqual(missing, [], `add a control to ${folder}/views/device-controls.tsx`);
});
