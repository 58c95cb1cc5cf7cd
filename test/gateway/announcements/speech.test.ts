import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { speechCommand } from "../../../gateway/announcements/settings.js";
import { Speech, speechLimits } from "../../../gateway/announcements/speech.js";
import { socketLimits } from "../../../gateway/limits.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { nextEvent, waitUntil } from "../../support/eventually.js";
import { commandLine } from "../../support/gateway-settings.js";
import { listen } from "../../support/ports.js";
import {
	bearer,
	deviceToken,
	monitorToken,
	type RunOptions,
	temporaryDirectory,
} from "../../support/running.js";
import { wav as wavOf } from "../../support/sounds.js";
import { run as runSounds } from "./run.js";

/** Writes 2,205 samples at 22,050 Hz per character, with unknown sizes in the header as espeak-ng does. */
const voice = 'size=$(wc -c); cat "$0.wav"; head -c $((2 * 2205 * (size - 1))) /dev/zero';
/** Speaks when the test releases it. */
const slowVoice = 'while ! test -e "$0.go"; do sleep 0.01; done; cat "$0.wav"; head -c 3200 /dev/zero';

/** Fails the test if the program still runs. */
const withoutLimit = { speechProgramMs: 3_600_000 };

/** @param program script of the shell */
async function run(t: TestContext, program: string, options: RunOptions = {}) {
	const dataDir = await temporaryDirectory(t);
	const path = join(dataDir, "voice");
	await writeFile(path, program);
	await writeFile(`${path}.wav`, wavOf(Buffer.alloc(0), { rate: 22_050, dataBytes: 0x7fff_ffff }));
	const environment = { SPEECH_COMMAND: commandLine("sh", path) };
	const gateway = await runSounds(t, { limits: withoutLimit, ...options, dataDir, environment });
	const device = await gateway.device("1");
	const say = (text: string) => gateway.announce({ text, targets: { devices: [device.deviceId] } });
	const hear = (body: object, token = monitorToken) => gateway.call("POST", "/api/speech", body, token);
	const files = () => readdir(join(dataDir, "sound-files"));
	return { ...gateway, dataDir, device, say, hear, files, go: () => writeFile(`${path}.go`, "") };
}

function voiceOf(words: readonly string[], yieldToLoop = async () => {}) {
	// Words of the setting contain no double quotes.
	const environment = { SPEECH_COMMAND: commandLine(...words.map((word) => word.replaceAll('"', "'"))) };
	const limits = { ...socketLimits, ...withoutLimit };
	const speech = new Speech({ environment, limits, log: createLog("silent"), yieldToLoop });
	return (text: string, signal = new AbortController().signal) => speech.speak(text, signal);
}

/** Server, and words of a program that stays connected to it until it exits. */
async function runHolders(t: TestContext) {
	const server = createServer();
	const port = await listen(t, server);
	const connected = nextEvent(server, "connection").then(([socket]: Socket[]) => {
		assert.ok(socket, "no connection");
		socket.resume().on("error", () => {});
		return { closed: once(socket, "close") };
	});
	const holder = [process.execPath, "-e", `require('node:net').connect(${port}, '127.0.0.1')`];
	return { port, connected, holder };
}

describe("text", () => {
	test("is spoken by the program, resampled, played, never listed, and removed afterwards", async (t) => {
		t.mock.timers.enable({ apis: ["setInterval"] });
		const { device, call, say, load, ended, files } = await run(t, voice);
		const id = await say("0123456789");
		await waitUntil(() => device.urls.length > 0);
		const { content } = await load(device.urls[0]);
		assert.deepEqual([content.readUInt32LE(24), content.length], [16_000, 44 + 2 * 16_000]);
		assert.deepEqual((await call("GET", "/api/sounds")).body, { sounds: [], canSpeak: true });
		const again = await say("0123456789");
		await waitUntil(() => device.urls.length >= 2);
		device.update(id, "played", { heard_ms: 1000 });
		await ended(id);
		t.mock.timers.tick(1_000);
		assert.equal((await load(device.urls[1])).status, 200);
		device.update(again, "played", { heard_ms: 1000 });
		await waitUntil(
			async () => (await files()).length === 0,
			() => t.mock.timers.tick(1_000),
		);
	});

	test("is served for an hour, across a restart", async (t) => {
		const { dataDir, gateway, device, say } = await run(t, voice);
		await say("0123456789");
		await waitUntil(() => device.urls.length > 0);
		const { pathname } = new URL(device.urls[0] ?? "");
		device.close();
		await gateway.close();
		for (const minutes of [50, 61]) {
			const status = minutes < 60 ? 200 : 404;
			const later = await runSounds(t, { dataDir, now: () => Date.now() + minutes * 60_000 });
			await waitUntil(async () => (await later.load(pathname)).status === status);
			// It is removed only after the start.
			for (let count = 0; count < 20; count += 1) assert.equal((await later.load(pathname)).status, status);
			await later.gateway.close();
		}
	});

	test("is converted in chunks between other requests at 70 s of speech", async (t) => {
		const path = join(await temporaryDirectory(t), "sound.wav");
		await writeFile(path, wavOf(Buffer.alloc(70 * 44_100), { rate: 22_050 }));
		let yields = 0;
		const yieldToLoop = async () => void yields++;
		const pieces = await voiceOf(["cat", path], yieldToLoop)("hello");
		assert.equal(Buffer.concat(pieces).length, 44 + 70 * 32_000);
		assert.ok(Math.max(...pieces.map(({ length }) => length)) <= 2 * 2_048, "a larger chunk");
		assert.equal(yields, pieces.length);
	});

	test("is passed as one line to the program", async () => {
		const program = "read -r line; case $line in 'Dinner is ready. Come!') exit 7;; esac; exit 8";
		const speak = voiceOf(["sh", "-c", program]);
		const text = "\n\r\n Dinner is\tready.\u2028Come!\u0085\n";
		await assert.rejects(speak(text), /The program exited with code 7\./);
		assert.throws(() => speak(" \n\t"), /The text is blank/);
	});

	test("is read completely if a child of the exited program holds its output", async (t) => {
		const { port, connected } = await runHolders(t);
		const hold = `require("node:net").connect(${port}, "127.0.0.1", () => process.send("connected"))`;
		const program = `
			const options = { stdio: ["ignore", "inherit", "ignore", "ipc"] };
			require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(hold)}], options).on("message", () => {
				const head = Buffer.from("${wavOf(Buffer.alloc(200_000)).toString("base64", 0, 44)}", "base64");
				process.stdout.write(Buffer.concat([head, Buffer.alloc(200_000)]), () => process.exit());
			});`;
		const pieces = await voiceOf([process.execPath, "-e", program])("hello");
		assert.equal(Buffer.concat(pieces).length, 200_044);
		await (await connected).closed;
	});

	test("is accepted immediately, and played once spoken, even on a device that reconnected", async (t) => {
		const { device, shown, becomes, say, go } = await run(t, slowVoice);
		const id = await say("hello");
		const state = async () => (await shown(id)).devices[0].state;
		assert.equal(await state(), "preparing");
		device.close();
		await device.connect();
		assert.deepEqual([await state(), device.urls], ["preparing", []]);
		await go();
		await becomes(id, "playing");
		assert.equal(device.urls.length, 1);
	});

	test("is not played if stopped during speech, and kills its program", async (t) => {
		const { connected, holder } = await runHolders(t);
		const { device, say, call, shown, files } = await run(t, `exec ${commandLine(...holder)}`);
		const id = await say("hello");
		const { closed } = await connected;
		assert.equal((await call("DELETE", `/api/announcements/${id}`)).status, 204);
		const [{ state, reason }] = (await shown(id)).devices;
		assert.deepEqual([state, reason], ["stopped", "command"]);
		await closed;
		assert.deepEqual([device.urls, await files()], [[], []]);
	});

	test("kills its program and all child processes with the gateway", async (t) => {
		const { connected, holder } = await runHolders(t);
		const { gateway, say } = await run(t, `${commandLine(...holder)} & wait`);
		await say("hello");
		const { closed } = await connected;
		await gateway.close();
		await closed;
	});

	test("can be previewed by those who may announce it", async (t) => {
		const { hear, url } = await run(t, voice);
		const headers = bearer(monitorToken);
		const body = '{"text":"0123456789"}';
		const spoken = await fetch(`${url}/api/speech`, { method: "POST", headers, body });
		assert.equal(spoken.headers.get("content-type"), "audio/wav");
		const wav = Buffer.from(await spoken.arrayBuffer());
		assert.deepEqual([wav.readUInt32LE(24), wav.length], [16_000, 44 + 2 * 16_000]);
		assert.equal((await hear({ text: "0123456789" }, deviceToken)).status, 401);
		assert.equal((await hear({ text: "a".repeat(1001) })).status, 422);
	});

	test("explains a failed preview before the idle timeout of a connection", async (t) => {
		const { speechMs } = speechLimits;
		const { stalledMs } = socketLimits;
		assert.ok(speechMs < stalledMs, `${speechMs} ms`);
		for (const [program, limits, status, detail] of [
			["exit 3", {}, 502, /^SPEECH_COMMAND produced no sound\. The program exited with code 3\.$/],
			[slowVoice, { speechProgramMs: 50 }, 502, /The program took longer than 0\.05 s\./],
			[slowVoice, { speechMs: 50 }, 503, /^Speech synthesis took longer than 0\.05 s\. Shorten/],
		] as const) {
			const { hear } = await run(t, program, { limits: { ...withoutLimit, ...limits } });
			const answer = await hear({ text: "hello" });
			assert.equal(answer.status, status);
			assert.match(answer.body.detail, detail);
		}
	});

	test("is rejected while ten wait, until one is stopped", async () => {
		const speak = voiceOf(["sleep", "1000000"]);
		const stops = Array.from({ length: 10 }, () => new AbortController());
		const waiting = stops.map(({ signal }) => speak("hello", signal));
		assert.throws(() => speak("one more"), /10 texts are queued for speech synthesis/);
		stops[9]?.abort();
		await assert.rejects(waiting[9] ?? Promise.resolve(), { name: "AbortError" });
		const last = new AbortController();
		waiting.push(speak("one more", last.signal));
		for (const stop of [...stops, last]) stop.abort();
		const ends = await Promise.allSettled(waiting);
		for (const { status } of ends) assert.equal(status, "rejected", "a program goes on");
	});

	test("is not passed in arguments, which are parsed without a shell", () => {
		const words = ["sh", "--model", "my voice.onnx", "--output_file", "-"];
		const line = 'sh --model "my voice.onnx" --output_file -';
		assert.deepEqual(speechCommand.read({ SPEECH_COMMAND: line }), words);
		assert.throws(() => speechCommand.read({ SPEECH_COMMAND: 'sh "voice' }), /SPEECH_COMMAND is invalid/);
		assert.equal(speechCommand.read({}), undefined);
	});
});
