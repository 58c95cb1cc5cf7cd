import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { speechCommand } from "../../../gateway/announcements/settings.js";
import { createSpeech, speechLimits } from "../../../gateway/announcements/speech.js";
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
	runGateway,
	temporaryDirectory,
} from "../../support/running.js";
import { wav as wavOf } from "../../support/sounds.js";
import { SoundDevice } from "./sound-device.js";

/** Writes 2,205 samples at 22,050 Hz per character, with unknown sizes in the header as espeak-ng does. */
const voice = `
let text = "";
process.stdin.on("data", (chunk) => { text += chunk; }).on("end", () => {
	const head = Buffer.from("RIFF\\xff\\xff\\xff\\x7fWAVEfmt \\x10\\0\\0\\0\\x01\\0\\x01\\0\\x22\\x56\\0\\0\\x44\\xac\\0\\0\\x02\\0\\x10\\0data\\xff\\xff\\xff\\x7f", "latin1");
	process.stdout.write(Buffer.concat([head, Buffer.alloc(text.trim().length * 2 * 2205, 1)]));
});`;

/** Speaks when the test releases it. */
const slowVoice = `
import { existsSync } from "node:fs";
const wait = () => (existsSync(process.argv[1] + ".go") ? speak() : setTimeout(wait, 10));
const speak = () => process.stdout.write(Buffer.from("${wavOf(Buffer.alloc(3_200)).toString("base64")}", "base64"));
wait();`;

/** Fails the test if the program still runs. */
const withoutLimit = { speechProgramMs: 3_600_000 };

async function run(t: TestContext, program: string, options: RunOptions = {}) {
	const dataDir = await temporaryDirectory(t);
	const path = join(dataDir, "voice.mjs");
	await writeFile(path, program);
	const environment = { SPEECH_COMMAND: commandLine(process.execPath, path) };
	const { url, gateway } = await runGateway(t, { limits: withoutLimit, ...options, dataDir, environment });
	const connectDevice = () => new SoundDevice({ url, deviceId: "dev-1-000001" }).connect();
	const device = await connectDevice();
	t.after(() => device.close());
	const call = async (path: string, body?: object, method = body ? "POST" : "GET") => {
		const response = await fetch(`${url}${path}`, {
			method,
			headers: bearer(monitorToken),
			...(body && { body: JSON.stringify(body) }),
		});
		return { status: response.status, body: JSON.parse((await response.text()) || "null") };
	};
	const say = (text: string) => call("/api/announcements", { text, targets: { devices: [device.deviceId] } });
	/** Entry of the device in an announcement. */
	const partOf = async (id: string) => (await call(`/api/announcements/${id}`)).body.devices[0];
	const go = () => writeFile(`${path}.go`, "");
	return { dataDir, url, gateway, device, connectDevice, call, say, partOf, go };
}

function voiceOf(words: readonly string[], yieldToLoop = async () => {}) {
	// Words of the setting contain no double quotes.
	const environment = { SPEECH_COMMAND: commandLine(...words.map((word) => word.replaceAll('"', "'"))) };
	const limits = { ...socketLimits, ...withoutLimit };
	const speak = createSpeech({ environment, limits, log: createLog("silent"), yieldToLoop });
	return (text: string, signal = new AbortController().signal) => speak(text, signal);
}

/** Server to which a process stays connected until it exits. */
async function runHolders(t: TestContext) {
	const server = createServer();
	const port = await listen(t, server);
	const connected = async () => {
		const [socket]: Socket[] = await nextEvent(server, "connection");
		assert.ok(socket, "no connection");
		socket.resume().on("error", () => {});
		return { socket, closed: once(socket, "close") };
	};
	return { port, connected: connected() };
}

describe("text", () => {
	test("is spoken by the program, resampled, played, never listed, and removed afterwards", async (t) => {
		const { dataDir, device, call, say } = await run(t, voice);
		const { status, body } = await say("0123456789");
		assert.equal(status, 202, JSON.stringify(body));
		await waitUntil(() => device.urls.length > 0);
		const served = await fetch(device.urls[0] ?? "", { headers: bearer(deviceToken) });
		const wav = Buffer.from(await served.arrayBuffer());
		assert.deepEqual([wav.readUInt32LE(24), wav.length], [16_000, 44 + 2 * 16_000]);
		assert.deepEqual((await call("/api/sounds")).body, { sounds: [], canSpeak: true });
		const again = await say("0123456789");
		await waitUntil(() => device.urls.length >= 2);
		device.update(body.id, "played", { heard_ms: 1000 });
		await waitUntil(async () => (await call(`/api/announcements/${body.id}`)).body.endedAt !== null);
		// Its file is removed in the next tick.
		await setTimeout(600);
		assert.equal((await fetch(device.urls[1] ?? "", { headers: bearer(deviceToken) })).status, 200);
		device.update(again.body.id, "played", { heard_ms: 1000 });
		await waitUntil(async () => (await readdir(join(dataDir, "sound-files"))).length === 0);
	});

	test("is served for an hour, across a restart", async (t) => {
		const { dataDir, gateway, device, say } = await run(t, voice);
		assert.equal((await say("0123456789")).status, 202);
		await waitUntil(() => device.urls.length > 0);
		const { pathname } = new URL(device.urls[0] ?? "");
		device.close();
		await gateway.close();
		for (const [minutes, status] of [
			[50, 200],
			[61, 404],
		] as const) {
			const now = () => Date.now() + minutes * 60_000;
			const later = await runGateway(t, { dataDir, now });
			await waitUntil(async () => {
				const served = await fetch(`${later.url}${pathname}`, { headers: bearer(deviceToken) });
				await served.arrayBuffer();
				return served.status === status;
			});
			await later.gateway.close();
		}
	});

	test("is converted in chunks between other requests at 70 s of speech", async (t) => {
		const path = join(await temporaryDirectory(t), "sound.wav");
		await writeFile(path, wavOf(Buffer.alloc(70 * 44_100), { rate: 22_050 }));
		let yields = 0;
		const yieldToLoop = async () => {
			yields += 1;
		};
		const pieces = await voiceOf(["cat", path], yieldToLoop)("hello");
		assert.equal(Buffer.concat(pieces).length, 44 + 70 * 32_000);
		assert.deepEqual(
			pieces.map(({ length }) => length).filter((bytes) => bytes > 2 * 2_048),
			[],
		);
		assert.equal(yields, pieces.length);
	});

	test("is passed as one line to the program", async () => {
		const speak = voiceOf([
			process.execPath,
			"-e",
			`process.stdin.setEncoding("utf8").once("data", (text) => process.exit(text === "Dinner is ready. Come!\\n" ? 7 : 8))`,
		]);
		await assert.rejects(
			speak("\n\r\n Dinner is\tready.\u2028Come!\u0085\n"),
			/The program exited with code 7\./,
		);
		assert.throws(() => speak(" \n\t"), /The text is blank/);
	});

	for (const [child, detached] of [
		["child that exits too", false],
		["child in its own session", true],
	] as const)
		test(`is read completely if the program has exited but its output is held by a ${child}`, async (t) => {
			const { port, connected } = await runHolders(t);
			const hold = `
				const socket = require("node:net").connect(${port}, "127.0.0.1", () => process.send("connected"));
				socket.on("data", () => process.exit());`;
			const program = `
				const stdio = ["ignore", "inherit", "ignore", "ipc"];
				const options = { stdio, detached: ${detached} };
				require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(hold)}], options).on("message", () => {
					const head = Buffer.from("${wavOf(Buffer.alloc(200_000)).toString("base64", 0, 44)}", "base64");
					process.stdout.write(Buffer.concat([head, Buffer.alloc(200_000)]), () => process.exit());
				});`;
			const pieces = await voiceOf([process.execPath, "-e", program])("hello");
			assert.equal(Buffer.concat(pieces).length, 200_044);
			const { socket, closed } = await connected;
			if (detached) socket.write("end");
			await closed;
		});

	test("is accepted immediately, and played once spoken, even on a device that reconnected", async (t) => {
		const { device, connectDevice, say, partOf, go } = await run(t, slowVoice);
		const { status, body } = await say("hello");
		assert.equal(status, 202);
		assert.equal((await partOf(body.id)).state, "preparing");
		device.close();
		const back = await connectDevice();
		t.after(() => back.close());
		assert.deepEqual([(await partOf(body.id)).state, back.urls], ["preparing", []]);
		await go();
		await waitUntil(async () => (await partOf(body.id)).state === "playing");
		assert.equal(back.urls.length, 1);
	});

	test("is not played if stopped during speech, and kills its program", async (t) => {
		const { port, connected } = await runHolders(t);
		const program = `import { connect } from "node:net"; connect(${port}, "127.0.0.1");`;
		const { dataDir, device, say, call, partOf } = await run(t, program);
		const { body } = await say("hello");
		const { closed } = await connected;
		assert.equal((await call(`/api/announcements/${body.id}`, undefined, "DELETE")).status, 204);
		const { state, reason } = await partOf(body.id);
		assert.deepEqual([state, reason], ["stopped", "command"]);
		await closed;
		assert.deepEqual([device.urls, await readdir(join(dataDir, "sound-files"))], [[], []]);
	});

	test("kills its program and all child processes with the gateway", async (t) => {
		const { port, connected } = await runHolders(t);
		const child = `require("node:net").connect(${port}, "127.0.0.1")`;
		const program = `
			import { spawn } from "node:child_process";
			spawn(process.execPath, ["-e", ${JSON.stringify(child)}], { stdio: "inherit" });`;
		const { gateway, say } = await run(t, program);
		await say("hello");
		const { closed } = await connected;
		await gateway.close();
		await closed;
	});

	test("can be previewed by those who may announce it", async (t) => {
		const { url } = await run(t, voice);
		const hear = (token: string, body: object) =>
			fetch(`${url}/api/speech`, { method: "POST", headers: bearer(token), body: JSON.stringify(body) });
		const spoken = await hear(monitorToken, { text: "0123456789" });
		assert.equal(spoken.headers.get("content-type"), "audio/wav");
		const wav = Buffer.from(await spoken.arrayBuffer());
		assert.deepEqual([wav.readUInt32LE(24), wav.length], [16_000, 44 + 2 * 16_000]);
		assert.equal((await hear(deviceToken, { text: "0123456789" })).status, 401);
		assert.equal((await hear(monitorToken, { text: "a".repeat(1001) })).status, 422);
	});

	test("explains a failed preview before the idle timeout of a connection", async (t) => {
		const failing = await run(t, "process.exit(3)");
		const { status, body } = await failing.call("/api/speech", { text: "hello" });
		assert.deepEqual(
			[status, body.detail],
			[502, "SPEECH_COMMAND produced no sound. The program exited with code 3."],
		);
		assert.ok(
			speechLimits.speechMs < socketLimits.stalledMs,
			`speech may take ${speechLimits.speechMs} ms, a connection may stall for ${socketLimits.stalledMs} ms`,
		);
		const endless = await run(t, slowVoice, { limits: { speechProgramMs: 50 } });
		assert.match(
			(await endless.call("/api/speech", { text: "hello" })).body.detail,
			/The program took longer than 0\.05 s\./,
		);
		const slow = await run(t, slowVoice, { limits: { ...withoutLimit, speechMs: 50 } });
		const late = await slow.call("/api/speech", { text: "hello" });
		assert.equal(late.status, 503);
		assert.match(late.body.detail, /^Speech synthesis took longer than 0\.05 s\. Shorten/);
	});

	for (const [program, reason] of [
		["process.exit(3)", /The program exited with code 3/],
		["process.stdout.write('hello, world')", /not a WAV; it must be a WAV of 16 bit PCM/],
		["", /The file ends before the first sample/],
		["process.stdout.write(Buffer.alloc(6 << 20))", /larger than 4 MB/],
	] as const)
		test(`fails with the reason ${reason.source}`, async () => {
			await assert.rejects(voiceOf([process.execPath, "-e", program])("hello"), { message: reason });
		});

	test("is rejected while ten wait, until one is stopped", async () => {
		const speak = voiceOf([process.execPath, "-e", "setInterval(() => {}, 1000)"]);
		const stops = Array.from({ length: 10 }, () => new AbortController());
		const waiting = stops.map(({ signal }) => speak("hello", signal));
		assert.throws(() => speak("one more"), /10 texts are queued for speech synthesis/);
		stops[9]?.abort();
		await assert.rejects(waiting[9] ?? Promise.resolve(), { name: "AbortError" });
		const last = new AbortController();
		waiting.push(speak("one more", last.signal));
		for (const each of [...stops, last]) each.abort();
		assert.deepEqual(
			(await Promise.allSettled(waiting)).filter(({ status }) => status !== "rejected"),
			[],
		);
	});

	test("is not passed in arguments, which are parsed without a shell", () => {
		assert.deepEqual(speechCommand.read({ SPEECH_COMMAND: 'sh --model "my voice.onnx" --output_file -' }), [
			"sh",
			"--model",
			"my voice.onnx",
			"--output_file",
			"-",
		]);
		assert.throws(() => speechCommand.read({ SPEECH_COMMAND: 'sh "voice' }), /SPEECH_COMMAND is invalid/);
		assert.equal(speechCommand.read({}), undefined);
	});
});
