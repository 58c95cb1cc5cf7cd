import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { createSpeech } from "../../../gateway/announcements/speech.js";
import { defaultSettings, readSettings } from "../../../gateway/settings.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { onEnd } from "../../support/cleanup.js";
import { bearer, deviceToken, monitorToken, runGateway, temporaryDirectory } from "../../support/running.js";
import { wav as wavOf } from "../../support/sounds.js";
import { SoundDevice } from "./sound-device.js";

/** Writes its text's length in samples of 22,050 Hz, as espeak-ng does: the sizes in the header are not known yet. */
const voice = `
let text = "";
process.stdin.on("data", (chunk) => { text += chunk; }).on("end", () => {
	const head = Buffer.from("RIFF\\xff\\xff\\xff\\x7fWAVEfmt \\x10\\0\\0\\0\\x01\\0\\x01\\0\\x22\\x56\\0\\0\\x44\\xac\\0\\0\\x02\\0\\x10\\0data\\xff\\xff\\xff\\x7f", "latin1");
	process.stdout.write(Buffer.concat([head, Buffer.alloc(text.trim().length * 2 * 2205, 1)]));
});`;

async function run(t: TestContext, program: string) {
	const dataDir = await temporaryDirectory(t);
	const path = join(dataDir, "voice.mjs");
	await writeFile(path, program);
	const speechCommand = [process.execPath, path];
	const { url } = await runGateway(t, { dataDir, speechCommand });
	const device = await new SoundDevice({ url, deviceId: "dev-1-000001" }).connect();
	t.after(() => device.close());
	const call = async (path: string, body?: object) => {
		const response = await fetch(`${url}${path}`, {
			method: body ? "POST" : "GET",
			headers: bearer(monitorToken),
			...(body && { body: JSON.stringify(body) }),
		});
		return { status: response.status, body: JSON.parse(await response.text()) };
	};
	const say = (text: string) => call("/api/announcements", { text, targets: { devices: [device.deviceId] } });
	return { dataDir, url, device, call, say };
}

function voiceOf(speechCommand: readonly string[], yieldToLoop = async () => {}) {
	return createSpeech({
		settings: { ...defaultSettings, speechCommand },
		log: createLog("silent"),
		yieldToLoop,
	});
}

describe("a text", () => {
	test("is spoken by the program, resampled and played; it is not listed, and removed afterwards", async (t) => {
		const { dataDir, device, call, say } = await run(t, voice);
		const { status, body } = await say("0123456789");
		assert.equal(status, 202, JSON.stringify(body));
		while (device.urls.length === 0) await setTimeout(5);
		const served = await fetch(device.urls[0] ?? "", { headers: bearer(deviceToken) });
		const wav = Buffer.from(await served.arrayBuffer());
		assert.deepEqual([wav.readUInt32LE(24), wav.length], [16_000, 44 + 2 * 16_000]);
		assert.deepEqual((await call("/api/sounds")).body, { sounds: [], canSpeak: true });
		const again = await say("0123456789");
		while (device.urls.length < 2) await setTimeout(5);
		device.update(body.id, "played", { heard_ms: 1000 });
		while ((await call(`/api/announcements/${body.id}`)).body.endedAt === null) await setTimeout(20);
		// Its file is removed with the next tick.
		await setTimeout(600);
		assert.equal((await fetch(device.urls[1] ?? "", { headers: bearer(deviceToken) })).status, 200);
		device.update(again.body.id, "played", { heard_ms: 1000 });
		while ((await readdir(join(dataDir, "sound-files"))).length > 0) await setTimeout(20);
	});

	test("of 70 s is converted in pieces, between which other requests are handled", async (t) => {
		const path = join(await temporaryDirectory(t), "sound.wav");
		await writeFile(path, wavOf(Buffer.alloc(70 * 44_100), { rate: 22_050 }));
		let yields = 0;
		const yieldToLoop = async () => {
			yields += 1;
		};
		const { speak } = voiceOf(["cat", path], yieldToLoop);
		const pieces = await speak("hello");
		assert.equal(Buffer.concat(pieces).length, 44 + 70 * 32_000);
		assert.ok(pieces.every(({ length }) => length <= 2 * 2_048));
		assert.equal(yields, pieces.length);
	});

	test("of several lines is one line for the program, which may speak a line at a time", async () => {
		const { speak } = voiceOf([
			process.execPath,
			"-e",
			`process.stdin.setEncoding("utf8").once("data", (text) => process.exit(text === "Dinner is ready. Come!\\n" ? 7 : 8))`,
		]);
		await assert.rejects(speak("\n\r\n Dinner is\tready.\u2028Come!\u0085\n"), /It ended with code 7\./);
		await assert.rejects(speak(" \n\t"), /The text is blank/);
	});

	for (const [child, detached] of [
		["child, which ends too", false],
		["child in a session of its own", true],
	] as const)
		test(`is spoken by a program that has ended and whose output is held by a ${child}`, async (t) => {
			const server = createServer().listen(0, "127.0.0.1");
			onEnd(t, () => server.close());
			await once(server, "listening");
			const address = server.address();
			assert.ok(typeof address === "object" && address);
			const hold = `
				const socket = require("node:net").connect(${address.port}, "127.0.0.1", () => process.send("connected"));
				socket.on("data", () => process.exit());`;
			const program = `
				const stdio = ["ignore", "inherit", "ignore", "ipc"];
				const options = { stdio, detached: ${detached} };
				require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(hold)}], options).on("message", () => {
					const head = Buffer.from("${wavOf(Buffer.alloc(200_000)).toString("base64", 0, 44)}", "base64");
					process.stdout.write(Buffer.concat([head, Buffer.alloc(200_000)]), () => process.exit());
				});`;
			const connected = once(server, "connection");
			const { speak } = voiceOf([process.execPath, "-e", program]);
			assert.equal(Buffer.concat(await speak("hello")).length, 200_044);
			const [socket]: Socket[] = await connected;
			assert.ok(socket);
			socket.on("error", () => {});
			const closed = once(socket, "close");
			if (detached) socket.write("end");
			else socket.resume();
			await closed;
		});

	test("stops with the gateway, with all that its program has started", async (t) => {
		const server = createServer().listen(0, "127.0.0.1");
		onEnd(t, () => server.close());
		await once(server, "listening");
		const address = server.address();
		assert.ok(typeof address === "object" && address);
		const hold = `require("node:net").connect(${address.port}, "127.0.0.1")`;
		const { speak, close } = voiceOf(["sh", "-c", `"$0" -e '${hold}'; true`, process.execPath]);
		const connected = once(server, "connection");
		const speaking = speak("hello");
		const [socket]: Socket[] = await connected;
		assert.ok(socket);
		const closed = once(
			socket.resume().on("error", () => {}),
			"close",
		);
		close();
		await assert.rejects(speaking, /It was stopped\./);
		await closed;
	});

	test("is heard before it is announced, by one who may announce it", async (t) => {
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

	test("is refused with the reason where the program fails, gives no WAV, or too much", async (t) => {
		for (const [program, reason] of [
			["process.exit(3)", /It ended with code 3/],
			["process.stdout.write('hello, world')", /no WAV; it must be a WAV of 16 bit PCM/],
			["", /The file ends before the first sample/],
			[
				"process.stdout.write(Buffer.from('UklGRiQAAABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAAZGF0YQAAAAA=', 'base64'))",
				/has no samples/,
			],
			[
				"const full = Buffer.alloc(1 << 20); for (let i = 0; i < 6; i += 1) process.stdout.write(full)",
				/larger than 4 MB/,
			],
		] as const) {
			const { say } = await run(t, program);
			const { status, body } = await say("hello");
			assert.equal(status, 502);
			assert.match(body.detail, reason);
		}
	});

	test("is refused while ten wait", async (t) => {
		const { say } = await run(t, "setInterval(() => {}, 1000)");
		const waiting = Array.from({ length: 10 }, () => say("hello"));
		waiting.map((each) => each.catch(() => {}));
		for (;;) {
			const answer = await Promise.race([say("one more"), setTimeout(500)]);
			if (!answer) continue;
			assert.equal(answer.status, 503);
			assert.match(answer.body.detail, /10 texts wait/);
			break;
		}
	});

	test("is not in the program's arguments: they are those of the setting, read without a shell", () => {
		assert.deepEqual(
			readSettings({ SPEECH_COMMAND: 'sh --model "my voice.onnx" --output_file -' }).speechCommand,
			["sh", "--model", "my voice.onnx", "--output_file", "-"],
		);
		assert.throws(() => readSettings({ SPEECH_COMMAND: 'sh "voice' }), /SPEECH_COMMAND is not a program/);
		assert.equal(readSettings({}).speechCommand, undefined);
	});
});
