/** Quiet hours of a device in XS: timing, restarts and clock corrections. */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { Quiet } from "../../../device/peripherals/quiet.js";
import { checkCommand, type QuietHours, type StateReport } from "../../../device/protocol/messages.js";
import { volumeRegister } from "../../../hosts/esp32/es8311.js";
import { flashSettings } from "../../../hosts/virtual/node/boot/factory-flash.js";
import { NvsStore } from "../../../hosts/virtual/node/boot/nvs-store.js";
import type { VirtualDevice, VirtualDeviceOptions } from "../../../hosts/virtual/node/virtual-device.js";
import { bytesPerSecond, noise, SoundServer, wav } from "../../support/sounds.js";
import { passUntil, powerOnInVirtualTime, type TimedDevice } from "../../support/virtual-time.js";
import { usedBytes } from "../heap-use.js";
import { clock } from "../update/timer.js";

const gainOf = (volume: number) => 10 ** ((volumeRegister(volume) - volumeRegister(100)) / 40);
const brightest = (device: VirtualDevice) => Math.max(...device.board.pixels);
const timestamp = (seconds: number) => new Date(seconds * 1000).toISOString();
const secondsOf = (report: StateReport) => Math.floor(Date.parse(report.timestamp) / 1000);

/** Starts a device with an uncorrected clock and a ring of one color. */
async function powerOn(t: TestContext, options: Partial<VirtualDeviceOptions> = {}) {
	const timed = await powerOnInVirtualTime(t, "DEV-1", { wallClock: undefined, ...options });
	const { connection, command } = timed;
	const white = await command(
		{ command: "set_light", value: { color: "#ffffff" } },
		({ led_ring }) => !!led_ring.light,
	);
	const setQuiet = async (value: QuietHours | null): Promise<StateReport> => {
		connection.send({ command: "set_quiet", value });
		return connection.next("state_report", ({ quiet }) => quiet?.id === value?.id);
	};
	return { ...timed, now: secondsOf(white), setQuiet };
}

/** Plays the startup chime to its end. @returns the codec's gain during the chime */
async function gainOfChime({ device, command, connection }: TimedDevice): Promise<number> {
	await command(
		{ command: "play_audio", value: "startup" },
		({ audio }) => audio.current_track === "file:///chimes/startup",
	);
	const { gain } = device.board;
	await passUntil(
		device,
		connection.next("state_report", ({ peripherals }) => peripherals.audio.player_state === "idle"),
	);
	return gain;
}

test("limit ring and volume during a period, and keep the values that were set and reported", async (t) => {
	const timed = await powerOn(t);
	const { device, connection, pass, now, setQuiet } = timed;
	const bright = brightest(device);
	const periods = [
		{ from: now + 60, until: now + 120 },
		{ from: now + 180, until: now + 240 },
	];
	const set = await setQuiet({ id: "n1", periods, volume: 20, brightness: 0.1 });
	assert.deepEqual(set.quiet, { id: "n1" });
	assert.equal(await gainOfChime(timed), gainOf(50));
	for (const { until } of periods) {
		const begun = await passUntil(
			device,
			connection.next("state_report", ({ quiet }) => quiet?.until !== undefined),
		);
		assert.deepEqual(begun.quiet, { id: "n1", until: timestamp(until) });
		assert.ok(brightest(device) < bright / 4, `${brightest(device)} of ${bright}`);
		assert.equal(await gainOfChime(timed), gainOf(20));
		device.board.setButton("volumeUp", true);
		await pass(50);
		device.board.setButton("volumeUp", false);
		await pass(50);
		assert.ok(device.board.gain <= gainOf(20), "the button works within the limit");
		const { peripherals } = await connection.query();
		assert.deepEqual([peripherals.audio.volume > 50, peripherals.led_ring.brightness_coef], [true, 0.5]);
		const over = await passUntil(
			device,
			connection.next("state_report", ({ quiet }) => quiet?.until === undefined),
		);
		assert.deepEqual(over.quiet, { id: "n1" });
		assert.ok(secondsOf(over) >= until, `quiet hours ended at ${secondsOf(over)}, not at ${until}`);
		assert.equal(await gainOfChime(timed), gainOf(peripherals.audio.volume));
	}
	await pass(1500);
	assert.equal(brightest(device), bright);
	assert.equal((await setQuiet(null)).quiet, undefined);
});

test("end exactly at their end", (t) => {
	const start = 1_800_000_000;
	const startMs = clock.now;
	const now = () => start * 1000 + clock.now - startMs;
	t.mock.method(Date, "now", now);
	const limits: boolean[] = [];
	const settings = { remembered: () => "", remember: () => {} };
	const quiet = new Quiet({ settings, onLimits: (hours) => limits.push(!!hours), onChanged: () => {} });
	quiet.set({ id: "n1", periods: [{ from: start + 10, until: start + 20 }], volume: 20 });
	const limitsAfter = (ms: number) => {
		clock.pass(ms);
		return limits.splice(0);
	};
	assert.deepEqual(limitsAfter(9_999), [false]);
	assert.deepEqual(limitsAfter(1), [true]);
	assert.deepEqual(limitsAfter(9_999), []);
	assert.deepEqual(limitsAfter(1), [false]);
	quiet.set(null);
});

test("leave a volume below the limit unchanged, and play an urgent sound at its own volume", async (t) => {
	const { device, connection, command, now, setQuiet } = await powerOn(t);
	const { url } = await SoundServer.run(t, { file: wav(noise(bytesPerSecond)) });
	await command({ command: "set_volume", value: 10 }, ({ audio }) => audio.volume === 10);
	await setQuiet({ id: "n1", periods: [{ from: now, until: now + 3600 }], volume: 20 });
	const gainWhile = async (id: string, value: object) => {
		connection.send({ command: "play_sound", value: { id, url, ...value } });
		await passUntil(
			device,
			connection.next("sound_update", (update) => update.id === id && update.state === "playing"),
		);
		const { gain } = device.board;
		await passUntil(
			device,
			connection.next("sound_update", (update) => update.id === id && update.state === "played"),
		);
		return gain;
	};
	assert.equal(await gainWhile("a", {}), gainOf(10));
	assert.equal(await gainWhile("b", { volume: 90 }), gainOf(20));
	assert.equal(await gainWhile("c", { volume: 90, priority: "urgent" }), gainOf(90));
	assert.equal(
		await gainWhile("d", { volume: 90, priority: "normal" }),
		gainOf(20),
		"the limit applies again",
	);
});

test("with only_urgent end other sounds, reject chimes and mute the device's own sounds", async (t) => {
	const timed = await powerOn(t);
	const { device, connection, pass, now, setQuiet } = timed;
	const { url } = await SoundServer.run(t, { file: wav(noise(3 * bytesPerSecond)) });
	const play = (id: string, value: object) =>
		connection.send({ command: "play_sound", value: { id, url, ...value } });
	const says = (id: string, state: string) =>
		passUntil(
			device,
			connection.next("sound_update", (update) => update.id === id && update.state === state),
		);
	play("a", { priority: "normal" });
	play("b", { priority: "normal" });
	await says("a", "playing");
	await setQuiet({ id: "n1", periods: [{ from: now, until: now + 3600 }], only_urgent: true });
	play("c", { priority: "low" });
	assert.deepEqual(await says("c", "stopped"), {
		type: "sound_update",
		deviceId: "dev-1-020000a1b2c3",
		id: "c",
		state: "stopped",
		reason: "quiet hours",
		underruns: 0,
		heard_ms: 0,
	});
	play("d", {});
	assert.equal((await says("d", "stopped")).reason, "quiet hours");
	await says("a", "played");
	const { reason, heard_ms } = await says("b", "stopped");
	assert.deepEqual([reason, heard_ms], ["quiet hours", 0], "it waited");
	connection.send({ command: "play_audio", value: "startup" });
	const { code, message } = await connection.next("command_error");
	assert.deepEqual([code, message], ["busy", "quiet hours allow only urgent sounds; try again afterwards"]);
	connection.send({ command: "identify" });
	device.board.setButton("play", true);
	await pass(50);
	device.board.setButton("play", false);
	await pass(50);
	assert.equal((await connection.query()).peripherals.audio.player_state, "idle");
	assert.equal(device.board.isSounding, false);
	play("u", { priority: "urgent" });
	await says("u", "played");
	await setQuiet(null);
	assert.equal(await gainOfChime(timed), gainOf(50));
});

test("are stored once, survive a power cut, and are erased when they are ended", async (t) => {
	const stored: string[] = [];
	const { write } = NvsStore.prototype;
	t.mock.method(NvsStore.prototype, "write", function (this: NvsStore, key: string, value: string) {
		if (key === "quiet") stored.push(value);
		write.call(this, key, value);
	});
	const timed = await powerOn(t);
	const { device, gateway, pass, now, setQuiet } = timed;
	const hours = { id: "n1", periods: [{ from: now - 1, until: now + 36_000 }], volume: 20, brightness: 0 };
	await setQuiet(hours);
	await pass(6000);
	await setQuiet(hours);
	await pass(6000);
	assert.deepEqual(
		stored.map((text) => JSON.parse(text)),
		[hours],
	);
	const restart = async () => {
		await device.powerCycle();
		const connection = await passUntil(device, gateway.connection());
		return { connection, quiet: (await connection.next("state_report")).quiet };
	};
	const restarted = await restart();
	assert.deepEqual(restarted.quiet, { id: "n1", until: timestamp(now + 36_000) });
	assert.equal(brightest(device), 0);
	restarted.connection.send({ command: "set_quiet", value: null });
	await restarted.connection.next("state_report", ({ quiet }) => quiet === undefined);
	await pass(6000);
	assert.equal((await restart()).quiet, undefined);
	assert.notEqual(brightest(device), 0);
});

test("are ignored when the stored value is invalid", async (t) => {
	const { device, gateway } = await powerOn(t);
	for (const quiet of ["{", "{}", '{"id":"n1","periods":[]}']) {
		flashSettings(device.flash, { quiet });
		await device.powerCycle();
		const connection = await passUntil(device, gateway.connection());
		assert.equal((await connection.next("state_report")).quiet, undefined);
		assert.equal(device.setting("quiet"), quiet);
	}
});

test("start and end within a second after a clock correction in either direction", async (t) => {
	const built = Date.UTC(2026, 2, 1) / 1000;
	const { device, connection, pass, setQuiet } = await powerOn(t, { buildTime: built });
	const later = built + 30 * 86_400;
	await setQuiet({ id: "n1", periods: [{ from: later, until: later + 86_400 }], brightness: 0 });
	const isQuiet = async () => (await connection.query()).quiet?.until !== undefined;
	assert.equal(await isQuiet(), false);
	device.board.wallClock = () => (later + 60) * 1000;
	// Queried each minute until it responds.
	await pass(62_000);
	assert.equal(await isQuiet(), true);
	assert.equal(brightest(device), 0);
	device.board.wallClock = () => (later - 3600) * 1000;
	await pass(6 * 3_600_000 + 2_000);
	assert.equal(await isQuiet(), false);
	assert.notEqual(brightest(device), 0);
});

test("use less than 3 KB of the heap with the maximum number of periods, and none once ended", async (t) => {
	const { device, pass, now, setQuiet } = await powerOn(t);
	const used = async () => {
		await pass(6000);
		return usedBytes(await device.machine.statistics(true));
	};
	await setQuiet(null);
	const before = await used();
	const periods = Array.from({ length: 16 }, (_, day) => ({
		from: now + day * 86_400,
		until: now + day * 86_400 + 36_000,
	}));
	await setQuiet({ id: "n1", periods, volume: 20, brightness: 0.1, only_urgent: false });
	const after = await used();
	assert.ok(after - before < 3072, `${after - before} bytes`);
	await setQuiet(null);
	const end = await used();
	// A report may be in flight.
	assert.ok(end - before < 1024, `${end - before} bytes`);
});

describe("set_quiet", () => {
	const periods = [{ from: 1, until: 2 }];
	const sentences: readonly (readonly [value: unknown, sentence: string])[] = [
		[7, "set_quiet: value must be null, or an object"],
		[{ periods }, "set_quiet: value.id is missing"],
		[{ id: "", periods }, "set_quiet: value.id must be letters or digits of at most 16 characters"],
		[{ id: "n1" }, "set_quiet: value.periods is missing"],
		[{ id: "n1", periods: [] }, "set_quiet: value.periods must be a list of 1 to 16"],
		[{ id: "n1", periods: Array(17).fill(periods[0]) }, "set_quiet: value.periods must be a list of 1 to 16"],
		[{ id: "n1", periods: [{ from: 1 }] }, "set_quiet: value.periods.0.until is missing"],
		[{ id: "n1", periods, volume: 101 }, "set_quiet: value.volume must be an integer from 0 to 100"],
		[{ id: "n1", periods, brightness: 2 }, "set_quiet: value.brightness must be a number from 0 to 1"],
		[{ id: "n1", periods, only_urgent: 1 }, "set_quiet: value.only_urgent must be true or false"],
	];
	for (const [value, sentence] of sentences)
		test(`rejects ${JSON.stringify(value).slice(0, 60)} with a message`, () => {
			assert.equal(checkCommand({ command: "set_quiet", value }).rejection?.message, sentence);
		});
});
