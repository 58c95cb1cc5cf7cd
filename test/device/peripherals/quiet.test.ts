/** Quiet hours: their rules in Node, and limits, restarts and heap of a device in XS. */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { Quiet } from "../../../device/peripherals/quiet.js";
import type { QuietHours, StateReport } from "../../../device/protocol/messages.js";
import { volumeRegister } from "../../../hosts/esp32/es8311.js";
import { loadSettings, NvsStore, readSettings } from "../../../hosts/virtual/node/boot/nvs-store.js";
import type { VirtualDevice } from "../../../hosts/virtual/node/virtual-device.js";
import { passUntil, powerOnInVirtualTime, type TimedDevice } from "../../support/virtual-time.js";
import { usedBytes } from "../heap-use.js";
import { clock } from "../update/timer.js";

describe("rules of quiet hours", () => {
	const start = 1_800_000_000;
	const periods = [{ from: start + 10, until: start + 20 }];

	/** @param stored value in flash */
	function begin(t: TestContext, stored = "") {
		clock.clear();
		const wall = { shiftSeconds: start - clock.now / 1000 };
		t.mock.method(Date, "now", () => wall.shiftSeconds * 1000 + clock.now);
		const limits: boolean[] = [];
		const kept = [stored];
		const quiet = new Quiet({
			settings: {
				remembered: () => kept.at(-1) ?? "",
				remember: (_name, text) => kept.push(String(text)),
			},
			onLimits: (hours) => limits.push(hours !== undefined),
			onChanged: () => {},
		});
		const limitsAfter = (ms: number) => {
			clock.pass(ms);
			return limits.splice(0);
		};
		return { quiet, kept, wall, limitsAfter };
	}

	test("begin exactly at their start and end exactly at their end", (t) => {
		const { quiet, limitsAfter } = begin(t);
		quiet.set({ id: "n1", periods, volume: 20 });
		assert.deepEqual(limitsAfter(9_999), [false]);
		assert.deepEqual(quiet.report, { id: "n1", until: undefined });
		assert.deepEqual(limitsAfter(1), [true]);
		assert.deepEqual(quiet.report, { id: "n1", until: new Date((start + 20) * 1000).toISOString() });
		assert.deepEqual(limitsAfter(9_999), []);
		assert.deepEqual(limitsAfter(1), [false]);
		quiet.set(null);
		assert.deepEqual([quiet.report, clock.pending], [undefined, 0]);
	});

	test("begin and end within a second after a clock correction in either direction", (t) => {
		const { quiet, wall, limitsAfter } = begin(t);
		quiet.set({ id: "n1", periods });
		assert.deepEqual(limitsAfter(1_000), [false]);
		wall.shiftSeconds += 10;
		assert.deepEqual(limitsAfter(1_000), [true]);
		wall.shiftSeconds -= 10;
		assert.deepEqual(limitsAfter(1_000), [false]);
	});

	test("are loaded at the start, unless the stored value is invalid, and erased when they are removed", (t) => {
		for (const stored of ["{", "{}", '{"id":"n1","periods":[]}'])
			assert.equal(begin(t, stored).quiet.report, undefined, stored);
		const { quiet, kept } = begin(t, JSON.stringify({ id: "n1", periods }));
		assert.equal(quiet.report?.id, "n1");
		quiet.set(null);
		assert.equal(kept.at(-1), "");
	});
});

const gainOf = (volume: number) => 10 ** ((volumeRegister(volume) - volumeRegister(100)) / 40);
const brightest = (device: VirtualDevice) => Math.max(...device.board.pixels);

/** Plays the startup chime to its end. @returns the codec's gain during the chime */
async function gainOfChime({ device, command, connection }: TimedDevice): Promise<number> {
	await command(
		{ command: "play_audio", value: "startup" },
		({ audio }) => audio.current_track === "file:///chimes/startup",
	);
	const { gain } = device.board;
	const idle = connection.next(
		"state_report",
		({ peripherals }) => peripherals.audio.player_state === "idle",
	);
	await passUntil(device, idle);
	return gain;
}

test("limit ring and volume of a device, are stored once, survive a power cut and use less than 3 KB", async (t) => {
	const stored: string[] = [];
	const { write } = NvsStore.prototype;
	t.mock.method(NvsStore.prototype, "write", function (this: NvsStore, key: string, value: string) {
		if (key === "quiet") stored.push(value);
		write.call(this, key, value);
	});
	const timed = await powerOnInVirtualTime(t, "DEV-1", { wallClock: undefined });
	const { device, gateway, connection, command, pass } = timed;
	// Each frame of an animated ring would be one step of the clock.
	const white = await command(
		{ command: "set_light", value: { color: "#ffffff" } },
		({ led_ring }) => !!led_ring.light,
	);
	const bright = brightest(device);
	const now = Math.floor(Date.parse(white.timestamp) / 1000);
	const setQuiet = (value: QuietHours | null): Promise<StateReport> => {
		connection.send({ command: "set_quiet", value });
		return connection.next("state_report", ({ quiet }) => quiet?.id === value?.id);
	};
	const used = async () => {
		await pass(6000);
		return usedBytes(await device.machine.statistics(true));
	};
	assert.equal(await gainOfChime(timed), gainOf(50));
	const before = await used();
	const periods = Array.from({ length: 16 }, (_, day) => ({
		from: now + 60 + day * 86_400,
		until: now + 120 + day * 86_400,
	}));
	const hours = { id: "n1", periods, volume: 20, brightness: 0.1, only_urgent: false };
	await setQuiet(hours);
	const bytes = (await used()) - before;
	assert.ok(bytes < 3072, `${bytes} bytes`);
	await setQuiet(hours);

	const isQuiet = connection.next("state_report", ({ quiet }) => quiet?.until !== undefined);
	const begun = await passUntil(device, isQuiet);
	assert.deepEqual(begun.quiet, { id: "n1", until: new Date((now + 120) * 1000).toISOString() });
	assert.ok(brightest(device) < bright / 4, `${brightest(device)} of ${bright}`);
	assert.equal(await gainOfChime(timed), gainOf(20));
	const { peripherals } = await connection.query();
	assert.deepEqual([peripherals.audio.volume, peripherals.led_ring.brightness_coef], [50, 0.5], "as set");
	const parsed = stored.map((text) => JSON.parse(text));
	assert.deepEqual(parsed, [hours]);

	gateway.server.on("headers", (lines) => lines.push(`Date: ${new Date((now + 90) * 1000).toUTCString()}`));
	const wrongClock = String(now + 100 * 86_400);
	loadSettings(device.flash, readSettings(device.flash).set("clock", wrongClock));
	await device.powerCycle();
	const again = await passUntil(device, gateway.connection());
	const first = await again.next("state_report");
	assert.deepEqual(first.quiet, begun.quiet, "by the corrected clock");
	const { clock_ahead_seconds: ahead } = first.health;
	assert.ok(Number(ahead) > 99 * 86_400, `${ahead} s ahead`);
	again.send({ command: "set_quiet", value: null });
	await again.next("state_report", ({ quiet }) => quiet === undefined);
	assert.ok(brightest(device) > bright / 4, `${brightest(device)} of ${bright}`);
	await pass(6000);
	assert.equal(device.setting("quiet"), "");
});
