/** Tests of decoding sounds with the program of DECODE_COMMAND. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { runCommand } from "../../support/command-line.js";
import { eventually } from "../../support/eventually.js";
import { commandLine } from "../../support/gateway-settings.js";
import { listen } from "../../support/ports.js";
import { pathOf, whyMissing } from "../../support/programs.js";
import {
	bearer,
	deviceToken,
	monitorToken,
	type RunOptions,
	runGateway,
	temporaryDirectory,
} from "../../support/running.js";
import { wav } from "../../support/sounds.js";
import { SoundDevice } from "./sound-device.js";

/** Decodes "tone", a space and a number of samples. "endless" runs until killed. */
const program = `
let file = "";
process.stdin.on("data", (chunk) => { file += chunk; }).on("end", () => {
	const [, samples] = /^tone (\\d+)$/.exec(file) ?? [];
	if (file === "endless") return setInterval(() => {}, 1000);
	if (samples === undefined) {
		console.error("reading\\nno \\x1b[31mtone");
		return process.exit(1);
	}
	const head = Buffer.from("${wav(Buffer.alloc(2)).subarray(0, 40).toString("base64")}", "base64");
	const size = Buffer.alloc(4);
	size.writeUInt32LE(samples * 2);
	process.stdout.write(Buffer.concat([head, size, Buffer.alloc(samples * 2, 1)]));
});`;

/** Fails the test if the program still runs. */
const withoutLimit = { limits: { decodeProgramMs: 3_600_000 } };

async function run(t: TestContext, options: RunOptions = {}) {
	const dataDir = await temporaryDirectory(t);
	const path = join(dataDir, "decoder.mjs");
	await writeFile(path, program);
	const { url } = await runGateway(t, {
		dataDir,
		environment: { DECODE_COMMAND: commandLine(process.execPath, path) },
		...options,
	});
	const device = await new SoundDevice({ url, deviceId: "dev-1-000001" }).connect();
	t.after(() => device.close());
	const ask = async (path: string, init: RequestInit = {}) => {
		const response = await fetch(`${url}${path}`, {
			...init,
			headers: { ...bearer(monitorToken), ...init.headers },
		});
		return { status: response.status, body: JSON.parse((await response.text()) || "null") };
	};
	const upload = (body: string | Buffer, type = "audio/mpeg", signal?: AbortSignal) =>
		ask("/api/sounds?name=Dinner", {
			method: "POST",
			body,
			headers: { "Content-Type": type },
			signal: signal ?? null,
		});
	/** Stops the announcement. @returns the device's entry once it satisfied the condition */
	const announce = async (
		url: string,
		predicate: (part: { state: string; reason: string | null }) => boolean,
		token = monitorToken,
	) => {
		const body = JSON.stringify({ url, targets: { devices: [device.deviceId] } });
		const headers = bearer(token);
		const { status, body: begun } = await ask("/api/announcements", { method: "POST", body, headers });
		assert.equal(status, 202, JSON.stringify(begun));
		const path = `/api/announcements/${begun.id}`;
		const part = await eventually(async () => (await ask(path)).body.devices[0], predicate);
		await ask(path, { method: "DELETE" });
		return part;
	};
	return { url, device, ask, upload, announce };
}

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
	return `http://127.0.0.1:${await listen(t, createServer(listener))}`;
}

describe("upload other than WAV", () => {
	test("is decoded and stored as the WAV that devices play", async (t) => {
		const { url, ask, upload } = await run(t);
		for (const type of ["audio/mpeg", "video/mp4", "audio/wav", "text/plain"]) {
			const { status, body } = await upload("tone 16000", type);
			assert.deepEqual([status, body.seconds, body.size], [201, 1, 32_044], type);
			const file = await fetch(`${url}/sounds/${body.id}.wav`, { headers: bearer(deviceToken) });
			const bytes = Buffer.from(await file.arrayBuffer());
			assert.deepEqual([bytes.toString("latin1", 0, 4), bytes.readUInt32LE(24)], ["RIFF", 16_000]);
		}
		assert.equal((await ask("/api/sounds")).body.sounds.length, 1);
	});

	test("is rejected with a reason if it cannot be decoded, and leaves nothing", async (t) => {
		const { ask, upload } = await run(t, withoutLimit);
		for (const [body, status, detail] of [
			[
				"no tone",
				422,
				"DECODE_COMMAND failed to decode this file. The program exited with code 1: no \\x1b[31mtone.",
			],
			["tone 1920016", 422, "The sound is longer than 120 s. Shorten it."],
			["tone 9000000", 422, "DECODE_COMMAND failed to decode this file. The output is larger than 4 MB."],
			[Buffer.alloc(8 * 2 ** 20 + 1), 413, "The file is larger than 8 MB. Shorten it."],
		] as const) {
			const answer = await upload(body);
			assert.deepEqual([answer.status, answer.body.detail], [status, detail]);
		}
		assert.equal((await upload("tone 16000", "multipart/form-data")).status, 415);
		assert.deepEqual((await ask("/api/sounds")).body.sounds, []);
	});

	test("is rejected if the program times out", async (t) => {
		const { upload } = await run(t, { limits: { decodeProgramMs: 50 } });
		const { status, body } = await upload("endless");
		assert.equal(status, 422);
		assert.match(body.detail, /failed to decode this file\. The program took longer than 0\.05 s\.$/);
	});

	test("waits in a queue of at most four", async (t) => {
		const { upload } = await run(t, withoutLimit);
		const ending = new AbortController();
		const uploads = Array.from({ length: 5 }, () => upload("endless", "audio/mpeg", ending.signal));
		const first = await Promise.race(uploads);
		assert.deepEqual(
			[first.status, first.body.detail],
			[503, "4 files are queued for decoding. Try again later."],
		);
		ending.abort();
		const others = await Promise.allSettled(uploads);
		assert.equal(others.filter(({ status }) => status === "rejected").length, 4);
	});

	test("is passed as a temporary file if the command has a placeholder", async (t) => {
		const folder = await temporaryDirectory(t);
		const path = join(folder, "decoder.mjs");
		const note = join(folder, "note");
		await writeFile(
			path,
			`import { readFileSync, writeFileSync } from "node:fs";
			writeFileSync(${JSON.stringify(note)}, process.argv[2]);
			const file = readFileSync(process.argv[2]);
			if (file.length === 2) process.exit(1);
			process.stdout.write(file.subarray(4));`,
		);
		const { upload } = await run(t, {
			environment: { DECODE_COMMAND: commandLine(process.execPath, path, "{file}") },
		});
		for (const [bytes, status] of [
			[Buffer.concat([Buffer.from("file"), wav(Buffer.alloc(32_000, 1))]), 201],
			[Buffer.alloc(2), 422],
		] as const) {
			assert.equal((await upload(bytes)).status, status);
			assert.equal(existsSync(await readFile(note, "utf8")), false);
		}
	});

	test("requires DECODE_COMMAND, as the message says", async (t) => {
		const { ask, upload } = await run(t, { environment: {} });
		const uploaded = await upload("tone 16000");
		const body = JSON.stringify({ url: "http://127.0.0.1:1/a.mp3", targets: { all: true } });
		const announced = await ask("/api/announcements", { method: "POST", body });
		for (const { status, body } of [uploaded, announced]) {
			assert.equal(status, 501);
			assert.match(body.detail, /^Formats other than WAV require DECODE_COMMAND/);
		}
	});
});

describe("WAV file", () => {
	const file = wav(Buffer.alloc(16_000, 1));

	test("is stored as it is if devices can play it, whatever its type is called", async (t) => {
		for (const options of [{}, { environment: {} }]) {
			const { upload } = await run(t, options);
			for (const type of ["audio/wav", "application/octet-stream"])
				assert.equal((await upload(file, type)).body.size, file.length, type);
		}
	});

	test("is decoded if devices cannot play it, and rejected with its format without DECODE_COMMAND", async (t) => {
		const stereo = Buffer.from(file);
		stereo.writeUInt16LE(2, 22);
		const [decoding, plain] = [await run(t), await run(t, { environment: {} })];
		for (const type of ["audio/wav", "application/octet-stream"]) {
			assert.match((await decoding.upload(stereo, type)).body.detail, /^DECODE_COMMAND failed/);
			const { status, body } = await plain.upload(stereo, type);
			assert.deepEqual([status, /stereo/.test(body.detail)], [422, true], body.detail);
		}
	});

	test("of a URL is loaded by the devices, also one that the gateway cannot fetch", async (t) => {
		const own = await serve(t, (_request, response) => response.end(file));
		const forDevices = await serve(t, (_request, response) => response.writeHead(401).end());
		const { device, announce } = await run(t);
		const urls = [own, forDevices].map((server) => `${server}/sound`);
		for (const url of urls) await announce(url, ({ state }) => state === "playing");
		assert.deepEqual(device.urls, urls);
	});
});

describe("URL other than WAV", () => {
	test("is fetched and decoded, and played from the gateway", async (t) => {
		const server = await serve(t, (_request, response) => response.end("tone 8000"));
		const { device, announce } = await run(t);
		await announce(`${server}/tts.MP3?voice=anna`, ({ state }) => state === "playing");
		const served = await fetch(device.urls[0] ?? "", { headers: bearer(deviceToken) });
		assert.equal((await served.arrayBuffer()).byteLength, 16_044);
		await announce(`${server}/sound.wav`, ({ state }) => state === "playing");
		assert.deepEqual(device.urls, [device.urls[0], device.urls[0]]);
	});

	test("fails with a reason if it is missing or not a sound", async (t) => {
		const { announce } = await run(t);
		const missing = await serve(t, (_request, response) => response.writeHead(404).end());
		const other = await serve(t, (_request, response) => response.end("<html>"));
		for (const [server, reason] of [
			[missing, /^127\.0\.0\.1:\d+ responded with status 404 for this sound\.$/],
			["http://127.0.0.1:1", /^Fetching the sound from 127\.0\.0\.1:1 failed\. Check its URL\.$/],
			[other, /failed to decode this file/],
		] as const)
			assert.match(
				String((await announce(`${server}/a.ogg`, ({ state }) => state === "failed")).reason),
				reason,
			);
	});

	test("is fetched from a private address for the role monitor only", async (t) => {
		let requests = 0;
		const server = await serve(t, (_request, response) => response.writeHead(++requests && 404).end());
		const { ask, announce } = await run(t);
		const body = JSON.stringify({ name: "ben", role: "user" });
		const { token } = (await ask("/api/tokens", { method: "POST", body })).body;
		const { reason } = await announce(`${server}/a.ogg`, ({ state }) => state === "failed", token);
		assert.match(String(reason), /failed\. Check its URL\. Private addresses require the role monitor\.$/);
		assert.equal(requests, 0);
	});
});

describe("ffmpeg command of the README", { skip: whyMissing("ffmpeg") }, () => {
	const readme = readFileSync("gateway/announcements/README.md", "utf8");
	const [, command = ""] = /`(ffmpeg [^`]+)`/.exec(readme) ?? [];

	test("decodes mp3, m4a, ogg and flac, opens no file of a playlist, and works with npm run say", async (t) => {
		const { url, upload } = await run(t, {
			environment: { DECODE_COMMAND: command, PATH: process.env.PATH },
		});
		const folder = await temporaryDirectory(t);
		for (const name of ["a.mp3", "a.m4a", "a.ogg", "a.flac"]) {
			const file = join(folder, name);
			// Long enough that the m4a index follows the samples.
			const made = spawnSync(pathOf("ffmpeg"), ["-v", "error", "-f", "lavfi", "-i", "sine=440:d=30", file]);
			assert.equal(made.status, 0, String(made.stderr));
			const { status, body } = await upload(await readFile(file));
			assert.equal(status, 201, `${name}: ${JSON.stringify(body)}`);
			assert.ok(Math.abs(body.seconds - 30) < 0.2, `${name}: ${body.seconds} s`);
		}
		for (const words of [
			["-c:a", "pcm_s24le"],
			["-c:a", "pcm_f32le"],
			["-c:a", "pcm_alaw"],
			["-ar", "44100"],
		]) {
			const file = join(folder, `${words.at(-1)}.wav`);
			const input = ["-v", "error", "-f", "lavfi", "-i", "sine=440:d=2"];
			const made = spawnSync(pathOf("ffmpeg"), [...input, ...words, file]);
			assert.equal(made.status, 0, String(made.stderr));
			const { status, body } = await upload(await readFile(file), "audio/wav");
			assert.deepEqual([status, Math.round(body.seconds)], [201, 2], `${file}: ${JSON.stringify(body)}`);
		}
		const broken = await upload("no sound");
		assert.match(broken.body.detail, /^DECODE_COMMAND .* code \d+: .*Invalid data found/);
		assert.doesNotMatch(broken.body.detail, /\/input/);
		const playlist = `#EXTM3U\n#EXT-X-TARGETDURATION:30\n#EXTINF:30,\n${join(folder, "a.mp3")}\n#EXT-X-ENDLIST\n`;
		assert.equal((await upload(playlist, "audio/mpegurl")).status, 422);
		for (const name of ["a.mp3", "pcm_s24le.wav"]) {
			const words = ["--all", "--gateway", url, join(folder, name)];
			const say = runCommand(t, "scripts/say.ts", words, { MONITOR_TOKEN: monitorToken });
			await eventually(
				() => say.output(),
				(output) => output.includes("playing"),
			);
		}
	});
});
