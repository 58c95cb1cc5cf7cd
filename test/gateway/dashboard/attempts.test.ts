import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type StateReport, uplinks } from "../../../device/protocol/messages.js";
import { matches } from "../../../device/protocol/schema.js";
import { isConfirmedBy } from "../../../gateway/api/confirmation.js";
import { type Answer, type Ask, Attempts } from "../../../gateway/dashboard/page/model/attempts.js";
import { altered, type Json, sampleReport } from "../../../scripts/api/sample-report.js";

const deviceId = "proto-1-a1b2c3";

function report(changes: Readonly<Record<string, Json>> = {}): StateReport {
	const message = Object.entries(changes).reduce<Readonly<Record<string, Json>>>(
		(previous, [path, value]) => altered(previous, path, value),
		sampleReport("PROTO-1"),
	);
	if (!matches(uplinks.state_report, message)) throw new Error("not a report");
	return message;
}

/** Attempts with an answer and a clock that the test controls. */
function setUp() {
	const sent: Ask[] = [];
	const answers: ((answer: Answer) => void)[] = [];
	const timers = new Set<() => void>();
	const clock = { now: 0 };
	const attempts = new Attempts({
		send: (_deviceId, ask) => {
			sent.push(ask);
			return new Promise((resolve) => answers.push(resolve));
		},
		later: (action) => {
			timers.add(action);
			return () => timers.delete(action);
		},
		now: () => clock.now,
		onChanged: () => {},
	});
	const answer = async (given: Answer) => {
		answers.shift()?.(given);
		await new Promise(setImmediate);
	};
	const volume = () => attempts.get(deviceId, "set_volume");
	const setVolume = (value: number) => attempts.ask(deviceId, { command: "set_volume", value });
	return { attempts, sent, answer, timers, clock, volume, setVolume };
}

const taken: Answer = { isTaken: true };

describe("a command to a device", () => {
	test("is pending until the device's report confirms it", async () => {
		const { attempts, answer, volume, setVolume, timers } = setUp();
		setVolume(30);
		attempts.onReport(deviceId, report());
		await answer(taken);
		assert.deepEqual(volume()?.ask, { command: "set_volume", value: 30 });
		assert.equal(volume()?.reason, null);
		attempts.onReport("another", report({ "peripherals.audio.volume": 30 }));
		assert.notEqual(volume(), undefined, "another device says nothing about it");
		attempts.onReport(deviceId, report({ "peripherals.audio.volume": 30 }));
		assert.equal(volume(), undefined);
		assert.equal(timers.size, 0);
	});

	test("is reverted with the gateway's reason", async () => {
		const { answer, volume, setVolume } = setUp();
		setVolume(30);
		await answer({ isTaken: false, code: "target_offline", message: "it is not connected" });
		assert.equal(volume()?.reason, "It is not connected.");
	});

	test("is reverted with the device's reason, and only the field that it names", async () => {
		const { attempts, answer, volume, setVolume } = setUp();
		setVolume(30);
		await answer(taken);
		const error = { type: "command_error", deviceId, code: "busy" } as const;
		attempts.onCommandError(deviceId, { ...error, command: "set_led", message: "an update runs" });
		assert.equal(volume()?.reason, null);
		attempts.onCommandError(deviceId, { ...error, command: "set_volume", message: "an update runs" });
		assert.equal(volume()?.reason, "An update runs.");
		attempts.onReport(deviceId, report({ "peripherals.audio.volume": 30 }));
		assert.equal(volume()?.reason, "An update runs.", "a refusal stays until it is read");
		attempts.dismiss(deviceId, "set_volume");
		assert.equal(volume(), undefined);
	});

	test("is reverted when nothing confirms it in time", async () => {
		const { answer, volume, setVolume, timers } = setUp();
		setVolume(30);
		await answer(taken);
		for (const expire of timers) expire();
		assert.equal(volume()?.reason, "The device did not confirm it in time.");
	});

	test("is reverted when the device disconnects, except for a restart of its connection", async () => {
		const { attempts, volume, setVolume } = setUp();
		setVolume(30);
		attempts.ask(deviceId, { command: "boot_device" });
		attempts.onGone(deviceId);
		assert.match(volume()?.reason ?? "", /disconnected/);
		assert.equal(attempts.get(deviceId, "boot_device")?.reason, null);
		attempts.onConnected(deviceId);
		assert.equal(attempts.get(deviceId, "boot_device"), undefined);
	});

	test("to restart is confirmed by a report of a start after it, and by nothing less", async () => {
		const { attempts, answer, clock } = setUp();
		const restart = () => attempts.get(deviceId, "restart");
		const reportAt = (now: number, uptimeSeconds: number) => {
			clock.now = now;
			attempts.onReport(deviceId, report({ "health.uptime_seconds": uptimeSeconds }));
		};
		const ended = attempts.done(deviceId, { command: "restart" });
		await answer(taken);
		reportAt(400, 3);
		attempts.onGone(deviceId);
		attempts.onConnected(deviceId);
		reportAt(9_000, 12);
		assert.equal(restart()?.reason, null, "it has only connected again");
		reportAt(12_000, 9);
		assert.equal(restart(), undefined);
		assert.equal(await ended, null);
	});

	test("to restart is given up when the device does not come back", async () => {
		const { attempts, timers } = setUp();
		attempts.ask(deviceId, { command: "restart" });
		attempts.onGone(deviceId);
		for (const expire of timers) expire();
		assert.equal(attempts.get(deviceId, "restart")?.reason, "The device did not restart in time.");
	});

	test("is sent one at a time, the latest last: a dragged slider does not flood the gateway", async () => {
		const { sent, answer, volume, setVolume } = setUp();
		for (const value of [1, 2, 3, 4]) setVolume(value);
		assert.deepEqual(sent, [{ command: "set_volume", value: 1 }]);
		assert.deepEqual(volume()?.ask, { command: "set_volume", value: 4 });
		await answer(taken);
		assert.deepEqual(sent.slice(1), [{ command: "set_volume", value: 4 }]);
		await answer(taken);
		assert.equal(sent.length, 2);
	});

	test("is not reverted by the failure of an earlier one", async () => {
		const { answer, volume, setVolume } = setUp();
		setVolume(1);
		setVolume(2);
		await answer({ isTaken: false, code: "rate_limited", message: "send less" });
		assert.equal(volume()?.reason, null);
	});
});

test("a report confirms each command by the field that it changes", () => {
	const cases: readonly (readonly [Ask, Readonly<Record<string, Json>>])[] = [
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
		assert.equal(isConfirmedBy(ask, report(), 0), false, ask.command);
		assert.equal(isConfirmedBy(ask, report(change), 0), true, ask.command);
	}
	assert.equal(isConfirmedBy({ command: "query_state" }, report(), 0), true);
});
