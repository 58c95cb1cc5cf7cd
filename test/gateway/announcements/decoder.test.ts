/** Tests of decoding sounds with the program of DECODE_COMMAND. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { commandLine } from "../../support/gateway-settings.js";
import { listen } from "../../support/ports.js";
import { monitorToken, type RunOptions, temporaryDirectory } from "../../support/running.js";
import { wav } from "../../support/sounds.js";
import { run as runSounds } from "./run.js";

/** Decodes "tone", a space and a number of samples. $0.wav is the head of a WAV file. */
const program = `
read -r word samples
test "$word" = tone || { printf 'reading\\nno \\033[31mtone\\n' >&2 && exit 1; }
cat "$0.wav" && head -c $((2 * samples)) /dev/zero`;

async function run(t: TestContext, options: RunOptions = {}) {
	const path = join(await temporaryDirectory(t), "decoder");
	await writeFile(path, program);
	// Written like this by a program that writes to a pipe.
	await writeFile(`${path}.wav`, wav(Buffer.alloc(0), { dataBytes: 0xffff_ffff }));
	const environment = { DECODE_COMMAND: commandLine("sh", path) };
	const gateway = await runSounds(t, { environment, ...options });
	const device = await gateway.device("1");
	const upload = (body: string | Buffer, type = "audio/mpeg") =>
		gateway.call("POST", "/api/sounds?name=Dinner", Buffer.from(body), monitorToken, {
			headers: { "Content-Type": type },
		});
	/** Stops the announcement. @returns the device's entry once it had this state */
	const announce = async (url: string, state: string, token = monitorToken) => {
		const id = await gateway.announce({ url, targets: { devices: [device.deviceId] } }, token);
		const part = await gateway.becomes(id, state);
		await gateway.call("DELETE", `/api/announcements/${id}`);
		return part;
	};
	return { ...gateway, device, upload, announce };
}

/** Serves these files; others have the status 404. */
async function serve(t: TestContext, files: Readonly<Record<string, string | Buffer>>) {
	const paths: string[] = [];
	const server = createServer(({ url = "" }, response) => {
		paths.push(url);
		const file = files[new URL(url, "http://x").pathname];
		if (file === undefined) response.writeHead(404).end();
		else response.end(file);
	});
	return { url: `http://127.0.0.1:${await listen(t, server)}`, paths };
}

describe("upload other than WAV", () => {
	test("is decoded and stored as the WAV that devices play", async (t) => {
		const { upload, load, sounds } = await run(t);
		for (const type of ["audio/mpeg", "video/mp4", "audio/wav", "text/plain"]) {
			const { status, body } = await upload("tone 16000", type);
			assert.deepEqual([status, body.seconds, body.size], [201, 1, 32_044], type);
			const { content } = await load(`/sounds/${body.id}.wav`);
			assert.deepEqual([content.toString("latin1", 0, 4), content.readUInt32LE(24)], ["RIFF", 16_000]);
		}
		assert.equal((await sounds()).length, 1);
	});

	test("is rejected with a reason if it cannot be decoded, and leaves nothing", async (t) => {
		const { upload, sounds } = await run(t);
		const failed = "DECODE_COMMAND failed to decode this file.";
		for (const [body, status, detail] of [
			["no tone", 422, `${failed} The program exited with code 1: no \\x1b[31mtone.`],
			["tone 1920016", 422, "The sound is longer than 120 s. Shorten it."],
			["tone 9000000", 422, `${failed} The output is larger than 4 MB.`],
			[Buffer.alloc(8 * 2 ** 20 + 1), 413, "The file is larger than 8 MB. Shorten it."],
		] as const) {
			const answer = await upload(body);
			assert.deepEqual([answer.status, answer.body.detail], [status, detail]);
		}
		assert.equal((await upload("tone 16000", "multipart/form-data")).status, 415);
		assert.deepEqual(await sounds(), []);
	});

	test("is passed as a temporary file if the command has a placeholder", async (t) => {
		const path = join(await temporaryDirectory(t), "decoder");
		await writeFile(path, 'printf %s "$1" >"$0.note" && test $(wc -c <"$1") -gt 2 && tail -c +5 "$1"');
		const { upload } = await run(t, { environment: { DECODE_COMMAND: commandLine("sh", path, "{file}") } });
		for (const [bytes, status] of [
			[Buffer.concat([Buffer.from("file"), wav(Buffer.alloc(32_000, 1))]), 201],
			[Buffer.alloc(2), 422],
		] as const) {
			assert.equal((await upload(bytes)).status, status);
			assert.equal(existsSync(await readFile(`${path}.note`, "utf8")), false);
		}
	});

	test("requires DECODE_COMMAND, as the message says", async (t) => {
		const { call, upload } = await run(t, { environment: {} });
		const asked = { url: "http://127.0.0.1:1/a.mp3", targets: { all: true } };
		for (const { status, body } of [
			await upload("tone 16000"),
			await call("POST", "/api/announcements", asked),
		]) {
			assert.equal(status, 501);
			assert.match(body.detail, /^Formats other than WAV require DECODE_COMMAND/);
		}
	});
});

describe("WAV file", () => {
	const file = wav(Buffer.alloc(16_000, 1));
	const types = ["audio/wav", "application/octet-stream"];

	test("is stored as it is if devices can play it, whatever its type is called", async (t) => {
		for (const options of [{}, { environment: {} }]) {
			const { upload } = await run(t, options);
			for (const type of types) assert.equal((await upload(file, type)).body.size, file.length, type);
		}
	});

	test("is decoded if devices cannot play it, and rejected with its format without DECODE_COMMAND", async (t) => {
		const stereo = Buffer.from(file);
		stereo.writeUInt16LE(2, 22);
		const [decoding, plain] = [await run(t), await run(t, { environment: {} })];
		for (const type of types) {
			assert.match((await decoding.upload(stereo, type)).body.detail, /^DECODE_COMMAND failed/);
			const { status, body } = await plain.upload(stereo, type);
			assert.deepEqual([status, /stereo/.test(body.detail)], [422, true], body.detail);
		}
	});

	test("of a URL is loaded by the devices, also one that the gateway cannot fetch", async (t) => {
		const server = await serve(t, { "/sound": file });
		const forDevices = createServer((_request, response) => response.writeHead(401).end());
		const { device, announce } = await run(t);
		const urls = [`${server.url}/sound`, `http://127.0.0.1:${await listen(t, forDevices)}/sound`];
		for (const url of urls) await announce(url, "playing");
		assert.deepEqual(device.urls, urls);
	});
});

describe("URL other than WAV", () => {
	test("is fetched and decoded, and played from the gateway", async (t) => {
		const { url } = await serve(t, { "/tts.MP3": "tone 8000", "/sound.wav": "tone 8000" });
		const { device, announce, load } = await run(t);
		await announce(`${url}/tts.MP3?voice=anna`, "playing");
		assert.equal((await load(device.urls[0])).content.length, 16_044);
		await announce(`${url}/sound.wav`, "playing");
		assert.deepEqual(device.urls, [device.urls[0], device.urls[0]]);
	});

	test("fails with a reason if it is missing or not a sound", async (t) => {
		const { announce } = await run(t);
		const { url } = await serve(t, { "/a.ogg": "<html>" });
		for (const [address, reason] of [
			[`${url}/b.ogg`, /^127\.0\.0\.1:\d+ responded with status 404 for this sound\.$/],
			["http://127.0.0.1:1/a.ogg", /^Fetching the sound from 127\.0\.0\.1:1 failed\. Check its URL\.$/],
			[`${url}/a.ogg`, /failed to decode this file/],
		] as const)
			assert.match((await announce(address, "failed")).reason, reason);
	});

	test("is fetched from a private address for the role monitor only", async (t) => {
		const { url, paths } = await serve(t, {});
		const { call, announce } = await run(t);
		const { token } = (await call("POST", "/api/tokens", { name: "ben", role: "user" })).body;
		const { reason } = await announce(`${url}/a.ogg`, "failed", token);
		assert.match(reason, /failed\. Check its URL\. Private addresses require the role monitor\.$/);
		assert.deepEqual(paths, []);
	});
});
