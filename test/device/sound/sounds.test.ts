/** Sounds from the network on a device in XS: output samples and reported states. */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { describe, test } from "node:test";
import type { UplinkOf } from "../../../device/protocol/messages.js";
import { assertSameBytes } from "../../support/bytes.js";
import {
	bytesPerSecond,
	capture,
	chunk,
	largestStep,
	noise,
	SoundServer,
	type SoundServerOptions,
	tone,
	wav,
} from "../../support/sounds.js";
import {
	passUntil,
	powerOnInVirtualTime,
	type TimedDevice,
	yieldToSockets,
} from "../../support/virtual-time.js";

type Update = UplinkOf<"sound_update">;

const isEnd = ({ state }: Pick<Update, "state">) => state !== "ready" && state !== "playing";

/** Runs device and link until a promise settles. @param onStep called each `stepMs` of the device's clock */
async function run<T>(
	timed: TimedDevice,
	awaited: Promise<T>,
	onStep: (ms: number) => void = () => {},
	stepMs = 100,
): Promise<T> {
	let isOver = false;
	const end = () => {
		isOver = true;
	};
	awaited.then(end, end);
	while (!isOver) {
		await yieldToSockets();
		onStep(stepMs);
		await timed.pass(stepMs);
	}
	return awaited;
}

const endOf = ({ connection }: TimedDevice, id: string) =>
	connection.next("sound_update", (update) => update.id === id && isEnd(update));

/** Captured samples without the trailing silence. */
const heard = (samples: () => Buffer, byteLength: number) => samples().subarray(0, byteLength);

describe("a sound", () => {
	test("of 60 s leaves the output sample by sample as in the file", async (t) => {
		const samples = noise(60 * bytesPerSecond);
		const server = await SoundServer.run(t, { file: wav(samples) });
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
		assert.deepEqual([state, underruns, heard_ms], ["played", 0, 60_000]);
		const lastedMs = timed.device.machine.now - startedMs;
		assert.ok(lastedMs >= 59_800 && lastedMs <= 60_200, `${lastedMs} ms`);
		await timed.pass(200);
		assertSameBytes(heard(captured, samples.length), samples);
		assert.ok(
			Buffer.concat(queued).subarray(0, samples.length).equals(samples),
			"samples for the demo's page",
		);
		assert.equal(server.requests.length, 1);
		assert.equal(server.connections, 0);
	});

	test("is loaded from a server that sends 102 and 103 first", async (t) => {
		const server = await SoundServer.run(t, {
			file: wav(noise(4000)),
			answer: (response) => {
				response.writeProcessing();
				response.writeEarlyHints({ link: "</style.css>; rel=preload" });
				return false;
			},
		});
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		timed.connection.send({ command: "play_sound", value: { id: "a", url: server.url } });
		const { state, reason } = await run(timed, endOf(timed, "a"));
		assert.deepEqual([state, reason], ["played", undefined]);
		assert.equal(server.requests.length, 1);
	});

	for (const dataBytes of [0, 0xffff_ffff])
		test(`from a pipe that announces ${dataBytes} bytes of samples is played to its end`, async (t) => {
			const samples = noise(2 * bytesPerSecond);
			const server = await SoundServer.run(t, { file: wav(samples, { dataBytes }) });
			const timed = await powerOnInVirtualTime(t, "DEV-1");
			const captured = capture(timed.device.board);
			timed.connection.send({ command: "play_sound", value: { id: "a", url: server.url } });
			const { state, heard_ms: heardMs } = await run(timed, endOf(timed, "a"));
			assert.deepEqual([state, heardMs], ["played", 2_000]);
			await timed.pass(200);
			assertSameBytes(heard(captured, samples.length), samples);
		});

	test("continues without a click over a link of 40 KB/s and 200 ms with lost seconds and an outage of 4 s", async (t) => {
		const samples = tone(30 * bytesPerSecond);
		const server = await SoundServer.run(t, { file: wav(samples), link: { bytesPerMs: 40, delayMs: 200 } });
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		const captured = capture(timed.device.board);
		timed.connection.send({ command: "play_sound", value: { id: "slow", url: server.url } });
		let passedMs = 0;
		const end = await run(
			timed,
			endOf(timed, "slow"),
			(ms) => {
				passedMs += ms;
				// Every twentieth second is lost.
				if (Math.floor(passedMs / 1000) % 20 !== 9) server.pass(ms);
				if (passedMs === 5_000) server.isDown = true;
				if (passedMs === 9_000) server.isDown = false;
			},
			25,
		);
		assert.deepEqual([end.state, end.heard_ms], ["played", 30_000]);
		assert.ok(end.underruns && end.underruns >= 1 && end.underruns <= 3, `${end.underruns} underruns`);
		await timed.pass(200);
		// Step of the sine at 110 Hz plus that of the fade: 20 ms for at most 12,000.
		const step = largestStep(captured());
		assert.ok(step <= 519 + 12_000 / 320 + 1, `a step of ${step}`);
		assertSameBytes(captured().subarray(0, 4 * bytesPerSecond), samples.subarray(0, 4 * bytesPerSecond));
		assert.ok(captured().includes(samples.subarray(-20 * bytesPerSecond)), "lost samples after the outage");
		assert.ok(
			server.requests.length >= 2 && server.requests.length <= 4,
			`${server.requests.length} requests`,
		);
		assert.match(server.requests.at(-1)?.range ?? "", /^bytes=\d+-$/);
		assert.equal(server.requests.at(-1)?.["if-range"], '"the-sound"');
	});

	test("resumes after a pause at the sample that was heard last", async (t) => {
		const samples = noise(6 * bytesPerSecond);
		const server = await SoundServer.run(t, { file: wav(samples) });
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		const { device, connection, pass } = timed;
		const captured = capture(device.board);
		const press = async () => {
			device.board.setButton("play", true);
			await pass(20);
			device.board.setButton("play", false);
			await pass(20);
		};
		connection.send({ command: "play_sound", value: { id: "paused", url: server.url } });
		await run(
			timed,
			connection.next("sound_update", ({ state }) => state === "playing"),
		);
		await pass(1000);
		await press();
		const paused = await connection.next(
			"state_report",
			({ peripherals }) => peripherals.audio.player_state === "paused",
		);
		assert.equal(paused.peripherals.audio.current_track, "file:///sounds/paused");
		await pass(100);
		const before = captured();
		await pass(30_000);
		assert.equal(captured().length, before.length, "silent");
		await press();
		const end = await run(timed, endOf(timed, "paused"));
		assert.deepEqual([end.state, end.underruns, end.heard_ms], ["played", 0, 6000]);
		await pass(200);
		// The 40 ms of the codec's ramp are played twice.
		const again = captured().subarray(before.length);
		const from = samples.indexOf(again.subarray(0, 64));
		assert.ok(from >= 0 && from % 2 === 0, `resumed at byte ${from}`);
		assert.ok(Math.abs(before.length - from - 40 * 32) <= 32, `${before.length - from} bytes`);
		assertSameBytes(before, samples.subarray(0, before.length), "before the pause");
		assertSameBytes(again.subarray(0, samples.length - from), samples.subarray(from), "after the pause");
	});

	test("leaves the device reachable while it is paused, even if the server keeps sending", async (t) => {
		const server = await SoundServer.run(t, { file: wav(noise(60 * bytesPerSecond)) });
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		const { connection, device } = timed;
		const reported = (state: string) =>
			run(
				timed,
				connection.next("state_report", ({ peripherals }) => peripherals.audio.player_state === state),
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

	test("waits for start_sound on request, and ends after 10 s without it", async (t) => {
		const server = await SoundServer.run(t, { file: wav(noise(2 * bytesPerSecond)) });
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		const { device, connection, pass } = timed;
		const value = { id: "a", url: server.url, ready: true };
		connection.send({ command: "play_sound", value });
		await run(
			timed,
			connection.next("sound_update", ({ state }) => state === "ready"),
		);
		await pass(9_000);
		assert.equal(device.board.isSounding, false);
		const { peripherals } = await connection.query();
		assert.deepEqual([peripherals.audio.player_state, peripherals.audio.current_track], ["idle", "none"]);
		connection.send({ command: "start_sound", value: { id: "b" } });
		const refused = await connection.next("command_error");
		assert.deepEqual(
			[refused.code, refused.message],
			["invalid_value", "unknown sound b; send play_sound first"],
		);
		connection.send({ command: "start_sound", value: { id: "a" } });
		await connection.next("sound_update", ({ state }) => state === "playing");
		assert.equal((await run(timed, endOf(timed, "a"))).state, "played");
		connection.send({ command: "play_sound", value: { ...value, id: "c" } });
		const late = await run(timed, endOf(timed, "c"));
		assert.deepEqual(
			[late.state, late.reason, late.heard_ms],
			["failed", "No start_sound was received within 10 s.", 0],
		);
	});

	test("starts as soon as it is loaded when start_sound came first", async (t) => {
		const server = await SoundServer.run(t, { file: wav(noise(2 * bytesPerSecond)) });
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		timed.connection.send({ command: "play_sound", value: { id: "a", url: server.url, ready: true } });
		timed.connection.send({ command: "start_sound", value: { id: "a" } });
		const states: string[] = [];
		const end = await run(
			timed,
			timed.connection.next("sound_update", ({ state }) => states.push(state) === 3),
		);
		assert.deepEqual(states, ["ready", "playing", "played"]);
		assert.equal(end.heard_ms, 2000);
	});

	test("has its own volume, which ends with it; volume buttons and mute have a lasting effect", async (t) => {
		const server = await SoundServer.run(t, { file: wav(noise(3 * bytesPerSecond)) });
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		const { device, connection, pass, command } = timed;
		const volume = async () => (await connection.query()).peripherals.audio.volume;
		const gain = () => device.board.codec.registers[0x32];
		const play = async (id: string) => {
			connection.send({ command: "play_sound", value: { id, url: server.url, volume: 80 } });
			await run(
				timed,
				connection.next("sound_update", ({ state }) => state === "playing"),
			);
			assert.deepEqual([await volume(), gain()], [80, 0xbf - 20]);
		};
		await command({ command: "set_volume", value: 0 }, ({ audio }) => audio.volume === 0);
		await play("muted");
		await run(timed, endOf(timed, "muted"));
		assert.deepEqual([await volume(), gain()], [0, 0]);
		await pass(5000);
		assert.equal(device.setting("volume"), "0");
		await play("louder");
		device.board.setButton("volumeUp", true);
		await pass(20);
		assert.deepEqual([await volume(), gain()], [85, 0xbf - 15]);
		device.board.setButton("volumeUp", false);
		await run(timed, endOf(timed, "louder"));
		assert.equal(await volume(), 85);
		await play("mute");
		device.board.setButton("mute", true);
		await pass(20);
		assert.deepEqual([await volume(), gain()], [0, 0]);
		await run(timed, endOf(timed, "mute"));
		assert.equal(await volume(), 0);
	});

	test("is stopped by a chime, another sound and stop_sound, and reports the reason and the time heard", async (t) => {
		const server = await SoundServer.run(t, { file: wav(noise(5 * bytesPerSecond)) });
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		const { connection, pass } = timed;
		const stopped = async (id: string, command: object) => {
			connection.send({ command: "play_sound", value: { id, url: server.url } });
			await run(
				timed,
				connection.next("sound_update", (update) => update.state === "playing" && update.id === id),
			);
			await pass(1000);
			connection.send(command);
			const { state, reason, heard_ms } = await endOf(timed, id);
			assert.ok(heard_ms && heard_ms >= 1000 && heard_ms <= 1100, `${heard_ms} ms`);
			return [state, reason];
		};
		assert.deepEqual(await stopped("a", { command: "play_audio", value: "startup" }), ["stopped", "chime"]);
		assert.deepEqual(await stopped("b", { command: "play_sound", value: { id: "b2", url: server.url } }), [
			"stopped",
			"another sound",
		]);
		assert.deepEqual(await stopped("c", { command: "stop_sound", value: { id: "c" } }), [
			"stopped",
			"command",
		]);
		assert.deepEqual(await stopped("d", { command: "stop_sound" }), ["stopped", "command"]);
		assert.deepEqual(await stopped("e", { command: "restart" }), ["stopped", "restart"]);
	});

	test("is stopped by an update, and rejected during it", async (t) => {
		const server = await SoundServer.run(t, { file: wav(noise(5 * bytesPerSecond)) });
		const silent = await SoundServer.run(t, { file: Buffer.alloc(0), answer: () => true });
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		const { connection } = timed;
		connection.send({ command: "play_sound", value: { id: "a", url: server.url } });
		await run(
			timed,
			connection.next("sound_update", ({ state }) => state === "playing"),
		);
		connection.send({ command: "start_ota", url: silent.url });
		const { state, reason } = await endOf(timed, "a");
		assert.deepEqual([state, reason], ["stopped", "update"]);
		const { peripherals } = await connection.next("state_report");
		assert.equal(peripherals.audio.player_state, "stopped");
		connection.send({ command: "play_sound", value: { id: "b", url: server.url } });
		assert.equal((await connection.next("command_error")).code, "busy");
	});

	test("is reported on the next connection if it ended without one", async (t) => {
		const server = await SoundServer.run(t, { file: wav(noise(2 * bytesPerSecond)) });
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		timed.connection.send({ command: "play_sound", value: { id: "a", url: server.url } });
		await run(
			timed,
			timed.connection.next("sound_update", ({ state }) => state === "playing"),
		);
		timed.gateway.server.options.verifyClient = () => timed.device.machine.now > 12_000;
		timed.connection.socket.terminate();
		const again = await run(timed, timed.gateway.connection());
		const { id, state, heard_ms } = await run(timed, again.next("sound_update"));
		assert.deepEqual([id, state, heard_ms], ["a", "played", 2000]);
	});

	test("is reported as playing again after the gateway reconnects", async (t) => {
		const server = await SoundServer.run(t, { file: wav(noise(30 * bytesPerSecond)) });
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		timed.connection.send({ command: "play_sound", value: { id: "a", url: server.url } });
		await run(
			timed,
			timed.connection.next("sound_update", ({ state }) => state === "playing"),
		);
		timed.connection.socket.terminate();
		const again = await run(timed, timed.gateway.connection());
		const { id, state } = await run(timed, again.next("sound_update"));
		assert.deepEqual([id, state], ["a", "playing"]);
	});

	for (const isPlayed of [true, false])
		test(`that was ${isPlayed ? "played" : "cut off"} before a power failure is not played again`, async (t) => {
			const server = await SoundServer.run(t, { file: wav(noise(3 * bytesPerSecond)) });
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
			assert.equal(server.requests.length, 1);
		});
});

test("keeps only the ring buffer in the heap, which an update receives", async (t) => {
	const server = await SoundServer.run(t, { file: wav(noise(bytesPerSecond / 4)) });
	const silent = await SoundServer.run(t, { file: Buffer.alloc(0), answer: () => true });
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
	assert.ok(
		first.chunkBytesUsed - before.chunkBytesUsed >= 40_960,
		`${first.chunkBytesUsed - before.chunkBytesUsed} bytes allocated`,
	);
	assert.ok(
		first.chunkBytesUsed - before.chunkBytesUsed < 40_960 + 1024,
		`${first.chunkBytesUsed - before.chunkBytesUsed} bytes allocated`,
	);
	// The results of 16 sounds are kept.
	for (let count = 0; count < 16; count++) await play(`s${count}`);
	const full = await machine.statistics(true);
	assert.ok(full.chunkBytesUsed - first.chunkBytesUsed < 2048, "bytes of results");
	for (let count = 16; count < 36; count++) await play(`s${count}`);
	const last = await machine.statistics(true);
	assert.ok(last.chunkBytesUsed - full.chunkBytesUsed < 200, "chunks");
	assert.ok(last.slotsUsed - full.slotsUsed < 50, "slots");
	timed.connection.send({ command: "start_ota", url: silent.url });
	await timed.connection.next(
		"state_report",
		({ peripherals }) => peripherals.led_ring.state_name === "updating",
	);
	const updating = await machine.statistics(true);
	assert.ok(updating.chunkBytesUsed < before.chunkBytesUsed + 24_576, "buffer of the update");
});

test("fails with the reason reported for a codec that does not respond", async (t) => {
	const server = await SoundServer.run(t, { file: wav(noise(2 * bytesPerSecond)) });
	const timed = await powerOnInVirtualTime(t, "DEV-1");
	const { connection, device } = timed;
	const { codec } = device.board;
	const fault = "The codec does not answer.";
	const play = (id: string) => connection.send({ command: "play_sound", value: { id, url: server.url } });
	const playAll = (id: string) => {
		play(id);
		return run(timed, endOf(timed, id));
	};
	const audioOf = async () => (await connection.query()).peripherals.audio;
	assert.equal((await audioOf()).fault, undefined);

	codec.isAnswering = false;
	connection.send({ command: "play_audio", value: "startup" });
	const report = await connection.next("state_report", ({ peripherals }) => !!peripherals.audio.fault);
	assert.deepEqual(report.peripherals.audio, {
		volume: report.peripherals.audio.volume,
		player_state: "idle",
		current_track: "none",
		fault,
	});
	const silent = await playAll("silent");
	assert.deepEqual([silent.state, silent.reason, silent.heard_ms], ["failed", fault, 0]);

	codec.isAnswering = true;
	const heard = await playAll("heard");
	assert.deepEqual([heard.state, heard.heard_ms], ["played", 2_000]);
	assert.equal((await audioOf()).fault, undefined);

	play("cut");
	await run(
		timed,
		connection.next("sound_update", (update) => update.id === "cut" && update.state === "playing"),
	);
	codec.isAnswering = false;
	const cut = await run(timed, endOf(timed, "cut"));
	assert.deepEqual([cut.state, cut.reason], ["failed", fault]);
	assert.equal((await audioOf()).fault, fault);
});

describe("unplayable sound fails with a reason:", () => {
	const samples = noise(4000);
	const text = (response: ServerResponse, status: number, body: string, headers = {}) => {
		response.writeHead(status, { "Content-Length": body.length, ...headers });
		response.end(body);
		return true;
	};
	const cases: readonly (readonly [name: string, reason: RegExp, options: SoundServerOptions])[] = [
		[
			"96 kHz stereo",
			/^The sound is 96000 Hz, stereo, 24 bit; it must be a WAV of 16000 Hz, mono, 16 bit PCM\.$/,
			{ file: wav(samples, { rate: 96_000, channels: 2, bits: 24 }) },
		],
		[
			"HTML",
			/^The file is HTML; it must be a WAV of 16000 Hz, mono, 16 bit PCM\.$/,
			{ file: Buffer.from("<!doctype html><title>Sign in</title>") },
		],
		[
			"a few bytes",
			/^The file ends before its first sample; it is not a WAV\.$/,
			{ file: Buffer.from("RIFF") },
		],
		["nothing", /^The sound on the server is empty\.$/, { file: Buffer.alloc(0) }],
		[
			"an endless header",
			/^The WAV file has more than 16384 bytes before its samples\.$/,
			{ file: wav(samples, { before: chunk("LIST", Buffer.alloc(100_000)) }) },
		],
		["no samples", /^The WAV file has no samples\.$/, { file: wav(Buffer.alloc(0)) }],
		[
			"404",
			/^The server answered 404: there is no sound at this address\.$/,
			{ file: samples, answer: (response) => text(response, 404, "no") },
		],
		[
			"a redirect",
			/^The server answered 302, a redirect; use the sound's final address\.$/,
			{ file: samples, answer: (response) => text(response, 302, "", { Location: "http://127.0.0.1:1/" }) },
		],
		[
			"chunks",
			/^The server sends the sound with chunked encoding, without its length\.$/,
			{
				file: samples,
				answer: (response) => Boolean(response.write("RIFF") && response.end()),
			},
		],
		[
			"a body that stops",
			/^The connection was lost: nothing was received for 5 s\.$/,
			{
				file: samples,
				hasRanges: false,
				answer: (response) =>
					Boolean(
						response
							.writeHead(200, { "Content-Length": 100_000 })
							.write(wav(noise(99_956)).subarray(0, 5000)),
					),
			},
		],
		[
			"a server that closes each connection",
			/^The sound cannot be loaded from 127\.0\.0\.1:\d+: the connection broke off\.$/,
			{ file: samples, answer: (response) => Boolean(response.destroy()) },
		],
	];
	for (const [name, reason, options] of cases)
		test(name, async (t) => {
			const server = await SoundServer.run(t, options);
			const timed = await powerOnInVirtualTime(t, "DEV-1");
			timed.connection.send({ command: "play_sound", value: { id: "a", url: server.url } });
			const end = await run(timed, endOf(timed, "a"), undefined, 250);
			assert.equal(end.state, "failed");
			assert.match(end.reason ?? "", reason);
			assert.equal(timed.device.board.isSounding, false);
			assert.equal((await timed.connection.query()).peripherals.audio.player_state, "idle");
			await timed.pass(100);
			assert.equal(server.connections, 0);
		});

	test("a file: address", async (t) => {
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		timed.connection.send({ command: "play_sound", value: { id: "a", url: "file:///etc/passwd" } });
		const end = await endOf(timed, "a");
		assert.equal(
			end.reason,
			'The sound\'s address must be http://host:port/path or https://…, not "file:///etc/passwd".',
		);
	});
});
