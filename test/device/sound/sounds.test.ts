/** Sounds from the network on a device in XS: output samples and reported states. */

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, test } from "node:test";
import type { UplinkOf } from "../../../device/protocol/messages.js";
import { assertSameBytes } from "../../support/bytes.js";
import { listen } from "../../support/ports.js";
import { bytesPerSecond, capture, noise, serveSound, wav } from "../../support/sounds.js";
import {
	passUntil,
	powerOnInVirtualTime,
	type TimedDevice,
	yieldToSockets,
} from "../../support/virtual-time.js";

type Update = UplinkOf<"sound_update">;

const isEnd = ({ state }: Pick<Update, "state">) => state !== "ready" && state !== "playing";

/** Shorter than the time for which the ring buffer lasts. */
const run = <T>({ device }: TimedDevice, awaited: Promise<T>): Promise<T> => passUntil(device, awaited, 100);

const endOf = ({ connection }: TimedDevice, id: string) =>
	connection.next("sound_update", (update) => update.id === id && isEnd(update));

describe("a sound", () => {
	test("of 10 s leaves the output sample by sample as in the file", async (t) => {
		const samples = noise(10 * bytesPerSecond);
		const server = await serveSound(t, wav(samples));
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		const captured = capture(timed.device.board);
		const queued: Uint8Array[] = [];
		timed.device.board.listen({
			onSound: (sound) => sound && queued.push(sound.samples),
			onQueued: (more) => queued.push(more),
		});
		timed.connection.send({ command: "play_sound", value: { id: "long", url: server.url } });
		const report = await run(
			timed,
			timed.connection.next(
				"state_report",
				({ peripherals }) => peripherals.audio.player_state === "playing",
			),
		);
		assert.equal(report.peripherals.audio.current_track, "file:///sounds/long");
		const startedMs = timed.device.machine.now;
		const { state, underruns, heard_ms } = await run(timed, endOf(timed, "long"));
		assert.deepEqual([state, underruns, heard_ms], ["played", 0, 10_000]);
		const lastedMs = timed.device.machine.now - startedMs;
		assert.ok(lastedMs >= 9_800 && lastedMs <= 10_200, `${lastedMs} ms`);
		await timed.pass(200);
		assertSameBytes(captured().subarray(0, samples.length), samples);
		assertSameBytes(Buffer.concat(queued).subarray(0, samples.length), samples, "for the demo's page");
		assert.equal(server.requests, 1);
		assert.equal(server.connections, 0);
	});

	test("leaves the device reachable while it is paused, even if the server keeps sending", async (t) => {
		const server = await serveSound(t, wav(noise(60 * bytesPerSecond)));
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		const { connection, device } = timed;
		const reported = (state: string) =>
			run(
				timed,
				connection.next("state_report", ({ peripherals: { audio } }) => audio.player_state === state),
			);
		connection.send({ command: "play_sound", value: { id: "long", url: server.url } });
		await reported("playing");
		device.board.setButton("play", true);
		await reported("paused");
		device.board.setButton("play", false);
		for (let second = 0; second < 10; second++) {
			await yieldToSockets();
			await timed.pass(1000);
		}
		for (const value of [11, 22, 33]) {
			connection.send({ command: "set_volume", value });
			const heard = connection.next("state_report", (report) => {
				assert.ok(report.health.uptime_seconds < 30, "the device received no command");
				return report.peripherals.audio.volume === value;
			});
			const { peripherals } = await run(timed, heard);
			assert.equal(peripherals.audio.player_state, "paused");
		}
	});

	test("is reported on the next connection, whether it still plays or has ended", async (t) => {
		const server = await serveSound(t, wav(noise(4 * bytesPerSecond)));
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		const { device, gateway } = timed;
		const stateAfterLoss = async ({ socket }: TimedDevice["connection"], pauseMs: number) => {
			const { now } = device.machine;
			gateway.server.options.verifyClient = () => device.machine.now >= now + pauseMs;
			socket.terminate();
			const again = await run(timed, gateway.connection());
			return { again, update: await run(timed, again.next("sound_update")) };
		};
		timed.connection.send({ command: "play_sound", value: { id: "a", url: server.url } });
		await run(
			timed,
			timed.connection.next("sound_update", ({ state }) => state === "playing"),
		);
		const { again, update } = await stateAfterLoss(timed.connection, 0);
		assert.deepEqual([update.id, update.state], ["a", "playing"]);
		const { state, heard_ms } = (await stateAfterLoss(again, 6_000)).update;
		assert.deepEqual([state, heard_ms], ["played", 4000]);
	});

	for (const isPlayed of [true, false])
		test(`that was ${isPlayed ? "played" : "cut off"} before a power failure is not played again`, async (t) => {
			const server = await serveSound(t, wav(noise(3 * bytesPerSecond)));
			const timed = await powerOnInVirtualTime(t, "DEV-1");
			const { device, gateway } = timed;
			const play = (connection: TimedDevice["connection"]) => {
				connection.send({ command: "play_sound", value: { id: "a", url: server.url } });
				const predicate = ({ state }: Update) => !isPlayed || isEnd({ state });
				return passUntil(device, connection.next("sound_update", predicate));
			};
			const before = await play(timed.connection);
			assert.equal(before.state, isPlayed ? "played" : "playing");
			await device.powerCycle();
			const again = await passUntil(device, gateway.connection());
			const { type, deviceId } = before;
			assert.deepEqual(
				await play(again),
				isPlayed ? before : { type, deviceId, id: "a", state: "stopped", reason: "restart" },
			);
			assert.equal(server.requests, 1);
		});
});

test("keeps only the ring buffer in the heap, which an update receives", async (t) => {
	const server = await serveSound(t, wav(noise(bytesPerSecond / 4)));
	const silent = `http://127.0.0.1:${await listen(t, createServer())}/firmware.bin`;
	const timed = await powerOnInVirtualTime(t, "DEV-1");
	const { machine } = timed.device;
	const play = async (id: string) => {
		timed.connection.send({ command: "play_sound", value: { id, url: server.url } });
		assert.equal((await run(timed, endOf(timed, id))).state, "played");
		await timed.pass(100);
	};
	const before = await machine.statistics(true);
	await play("first");
	const first = await machine.statistics(true);
	const allocated = first.chunkBytesUsed - before.chunkBytesUsed;
	assert.ok(allocated >= 40_960 && allocated < 40_960 + 1024, `${allocated} bytes allocated`);
	// The results of 16 sounds are kept.
	for (let count = 0; count < 16; count++) await play(`s${count}`);
	const full = await machine.statistics(true);
	assert.ok(full.chunkBytesUsed - first.chunkBytesUsed < 2048, "bytes of results");
	for (let count = 16; count < 24; count++) await play(`s${count}`);
	const last = await machine.statistics(true);
	assert.ok(last.chunkBytesUsed - full.chunkBytesUsed < 200, "chunks");
	assert.ok(last.slotsUsed - full.slotsUsed < 50, "slots");
	timed.connection.send({ command: "start_ota", url: silent });
	await timed.connection.next(
		"state_report",
		({ peripherals }) => peripherals.led_ring.state_name === "updating",
	);
	const updating = await machine.statistics(true);
	assert.ok(updating.chunkBytesUsed < before.chunkBytesUsed + 24_576, "buffer of the update");
});
