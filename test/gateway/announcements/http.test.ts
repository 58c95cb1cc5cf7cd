import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { Duplex, PassThrough } from "node:stream";
import { describe, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { bodyOf } from "../../../gateway/announcements/sounds.js";
import type { RequestError } from "../../../gateway/problem.js";
import { assertSameBytes } from "../../support/bytes.js";
import { Authority, tlsFiles } from "../../support/certificates.js";
import { diskWith, failingDisk, systemError } from "../../support/disk.js";
import { nextEvent, waitUntil } from "../../support/eventually.js";
import { listen } from "../../support/ports.js";
import { whyMissing } from "../../support/programs.js";
import { bearer, deviceToken, monitorToken, temporaryDirectory } from "../../support/running.js";
import { tone, wav as wavOf } from "../../support/sounds.js";
import { checkFrame } from "../api/schemas.js";
import { ofFleet, run, type SoundDevice, sha256, wav } from "./run.js";

const none = { sounds: [], canSpeak: false };

/** States of an announcement by the last digit of each device id. */
const states = (announcement: { readonly devices: readonly { deviceId: string; state: string }[] }) =>
	Object.fromEntries(announcement.devices.map(({ deviceId, state }) => [deviceId.at(-1), state]));

describe("sound", () => {
	test("is stored under its digest, listed, served with ranges across a restart, and deleted", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await run(t, { dataDir });
		const made = await first.upload("De\u0301jeuner\u00a0");
		assert.equal(made.status, 201);
		const { createdAt, ...rest } = made.body;
		assert.deepEqual(rest, { id: sha256, name: "D\u00e9jeuner", seconds: 0.5, size: wav.length, sha256 });
		assert.equal(made.headers.get("location"), `/api/sounds/${sha256}`);
		await first.gateway.close();

		const { call, load, url } = await run(t, { dataDir });
		assert.deepEqual((await call("GET", "/api/sounds")).body, { ...none, sounds: [{ ...rest, createdAt }] });
		const served = await load();
		assertSameBytes(served.content, wav);
		const names = [...served.headers.keys()].filter((name) => !["connection", "keep-alive"].includes(name));
		const read = ["accept-ranges", "cache-control", "content-length", "content-type", "date", "etag"];
		assert.deepEqual(names, read, "header read byte by byte");
		const part = await load(undefined, { Range: "bytes=100-199" });
		assert.equal(part.status, 206);
		assertSameBytes(part.content, wav.subarray(100, 200));
		assert.equal((await fetch(`${url}/sounds/${sha256}.wav`)).status, 401);
		for (const status of [204, 404])
			assert.equal((await call("DELETE", `/api/sounds/${sha256}`)).status, status);
		assert.deepEqual((await call("GET", "/api/sounds")).body, none);
		assert.deepEqual(await fs.readdir(join(dataDir, "sound-files")), []);
	});

	test("is sent in TLS records that a device decrypts within 20 ms", {
		skip: whyMissing("openssl"),
	}, async (t) => {
		const folder = await temporaryDirectory(t);
		const authority = new Authority(folder, "test");
		const tls = tlsFiles(folder, authority.issue("IP:127.0.0.1"));
		const { url } = await run(t, { tls, authority: authority.certificate });
		const socket = connect(Number(new URL(url).port), "127.0.0.1");
		t.after(() => socket.destroy());
		const encrypted: Buffer[] = [];
		const read = new PassThrough();
		socket.on("data", (chunk: Buffer) => encrypted.push(chunk)).pipe(read);
		const stream = Duplex.from({ readable: read, writable: socket });
		const trusted = { ca: authority.certificate, host: "127.0.0.1", maxVersion: "TLSv1.2" } as const;
		const secure = connectTls({ socket: stream, ...trusted });
		await nextEvent(secure, "secureConnect");
		const handshakeBytes = Buffer.concat(encrypted).length;
		const ask = (start: string, token: string, fields: readonly string[], ...body: Uint8Array[]) => {
			const lines = [`${start} HTTP/1.1`, "Host: x", `Authorization: Bearer ${token}`, ...fields];
			secure.write(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), ...body]));
		};
		const fields = ["Content-Type: audio/wav", `Content-Length: ${wav.length}`];
		ask("POST /api/sounds?name=Dinner", monitorToken, fields, wav);
		await nextEvent(secure, "readable");
		ask(`GET /sounds/${sha256}.wav`, deviceToken, ["Connection: close"]);
		let received = 0;
		for await (const chunk of secure) received += chunk.length;
		assert.ok(received > wav.length, `received ${received} bytes for a file of ${wav.length}`);
		assert.notEqual(handshakeBytes, 0);
		const records = Buffer.concat(encrypted).subarray(handshakeBytes);
		for (let at = 0; at < records.length; at += 5 + records.readUInt16BE(at + 3)) {
			const length = records.readUInt16BE(at + 3);
			// Includes the nonce and tag of AES-GCM.
			assert.ok(length <= 2048 + 24, `a record of ${length} bytes`);
		}
	});

	test("is rejected with a reason if no device can play it, and leaves nothing", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const { call } = await run(t, { dataDir });
		const stereo = Buffer.from(wav);
		stereo.writeUInt16LE(2, 22);
		for (const [body, reason] of [
			[stereo, /stereo/],
			[wavOf(Buffer.alloc(121 * 32_000)), /longer than 120 s/],
			[wavOf(Buffer.alloc(121 * 32_000), { dataBytes: 0 }), /longer than 120 s/],
			[wavOf(Buffer.alloc(0)), /has no samples/],
			[wav.subarray(0, 20), /ends before the first sample/],
		] as const) {
			const answer = await call("POST", "/api/sounds?name=x", body);
			assert.equal(answer.status, 422);
			assert.match(answer.body.detail, reason);
		}
		const headers = { "Content-Type": "multipart/form-data" };
		const form = await call("POST", "/api/sounds?name=x", wav, monitorToken, { headers });
		assert.equal(form.status, 415);
		for (const name of ["", "%20", "%E2%80%8B"])
			assert.equal((await call("POST", `/api/sounds?name=${name}`, wav)).status, 422);
		assert.deepEqual(await fs.readdir(join(dataDir, "sound-files")), []);
		assert.deepEqual((await call("GET", "/api/sounds")).body, none);
	});

	test("returns 507 on a full disk, and leaves nothing, or what was there before", async (t) => {
		let full: RegExp | undefined;
		const disk = diskWith((operation, path) => {
			if (/open|create/.test(operation) && full?.test(path)) throw systemError("ENOSPC");
		});
		const { call, upload, sounds, load } = await run(t, { disk });
		full = /./;
		assert.equal((await upload()).status, 507);
		full = undefined;
		assert.deepEqual(await sounds(), []);
		assert.equal((await upload("Dinner")).status, 201);
		full = /\.json/;
		assert.equal((await upload("Lunch")).status, 507);
		full = /./;
		assert.equal((await call("DELETE", `/api/sounds/${sha256}`)).status, 507);
		full = undefined;
		assert.deepEqual([(await sounds())[0]?.name, (await load()).status], ["Dinner", 200]);
	});

	test("is kept if its record cannot be read at the start", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await run(t, { dataDir });
		await first.upload();
		await first.gateway.close();
		const { disk } = failingDisk("readFile", "EMFILE", `${sha256}.json`);
		const second = await run(t, { dataDir, disk });
		assert.deepEqual(await second.sounds(), []);
		await second.gateway.close();
		const { load } = await run(t, { dataDir });
		assert.ok((await load()).content.equals(wav), "sound is missing");
	});
});

test("rejects a stalled and an incomplete upload", async (t) => {
	t.mock.timers.enable({ apis: ["setInterval"] });
	const requests: IncomingMessage[] = [];
	const server = createServer((request) => requests.push(request));
	const port = await listen(t, server);
	for (const [end, status] of [
		[() => t.mock.timers.tick(30_000), 408],
		[(socket: Socket) => socket.destroy(), 400],
	] as const) {
		const socket = connect(port, "127.0.0.1");
		t.after(() => socket.destroy());
		socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nabc");
		await waitUntil(() => requests.length > 0);
		const [request = assert.fail("no request was received")] = requests.splice(0);
		const chunks = bodyOf(request)[Symbol.asyncIterator]();
		assert.equal(String((await chunks.next()).value), "abc");
		end(socket);
		const readAll = async () => {
			while (!(await chunks.next()).done);
		};
		await assert.rejects(readAll, ({ rejection }: RequestError) => rejection.status === status);
	}
});

describe("announcement", () => {
	test("plays in a room at once, with a result of each device for subscribers", ofFleet, async (t) => {
		const { call, upload, device, announce, ended, open, url } = await run(t);
		const watcher = await open("/monitor?announcements", { headers: bearer(monitorToken) });
		await upload();
		const devices = [await device("1"), await device("2"), await device("3")];
		for (const { deviceId } of devices.slice(0, 2))
			await call("PATCH", `/api/devices/${deviceId}`, { room: "Kitchen" });
		const id = await announce({ sound: sha256, targets: { room: "Kitchen" }, volume: 30 });
		const waits = { priority: "normal", expires: 300 };
		const value = { id, url: `${url}/sounds/${sha256}.wav`, volume: 30, ready: true, ...waits };
		for (const speaker of devices.slice(0, 2)) {
			await speaker.receives({ command: "start_sound", value: { id } });
			assert.deepEqual(speaker.commands.at(-2), { command: "play_sound", value });
			speaker.update(id, "played", { heard_ms: 500, underruns: 0 });
		}
		const { counts, devices: parts, name, by } = await ended(id);
		assert.deepEqual([name, by, counts.played, parts.length], ["Dinner", "monitor", 2, 2]);
		assert.deepEqual([parts[0].heardMs, parts[0].lateMs], [500, null]);
		for (let isOver = false; !isOver; ) {
			const frame = await watcher.next();
			checkFrame(frame);
			if (frame.type !== "announcement_update") continue;
			assert.deepEqual([Object(frame).name, Object(frame).by], [name, by]);
			({ isOver } = Object(frame));
		}
		assert.deepEqual(devices[2]?.commands, []);
	});

	test("shows for each device why it does not play", async (t) => {
		const { upload, device, announce, ended } = await run(t);
		await upload();
		(await device("4")).close();
		await device("1", { does: "is busy" });
		await device("2", { does: "fails" });
		await device("3", { features: ["identify"] });
		const playing = await device("5");
		const id = await announce({ sound: sha256, targets: { all: true } });
		await playing.receives({ command: "start_sound", value: { id } });
		playing.close();
		const announcement = await ended(id);
		const expected = { 1: "busy", 2: "failed", 3: "unsupported", 4: "away", 5: "away" };
		assert.deepEqual(states(announcement), expected);
		const failed = announcement.devices.find(({ state }: { state: string }) => state === "failed");
		assert.equal(failed.reason, "404 Not Found");
		await playing.connect();
		playing.update(id, "played", { heard_ms: 500 });
		await waitUntil(async () => states(await ended(id))[5] === "played");
	});

	test("starts immediately on one device, and can be stopped", async (t) => {
		const { upload, device, announce, becomes, ended, call } = await run(t);
		await upload();
		const speaker = await device("1");
		const id = await announce({ sound: sha256, targets: { devices: [speaker.deviceId] } });
		await becomes(id, "playing");
		const received = speaker.commands.map(({ command }) => command);
		assert.deepEqual(received, ["play_sound"]);
		assert.equal((await call("DELETE", `/api/announcements/${id}`)).status, 204);
		const { devices } = await ended(id);
		assert.deepEqual([devices[0].state, devices[0].reason, devices[0].heardMs], ["stopped", "command", 40]);
	});

	test("plays a deleted sound to its end, which is then removed unless stored again", async (t) => {
		t.mock.timers.enable({ apis: ["setInterval"] });
		const dataDir = await temporaryDirectory(t);
		const { upload, device, announce, ended, call, sounds, load } = await run(t, { dataDir });
		const speaker = await device("1");
		const play = () => announce({ sound: sha256, targets: { devices: [speaker.deviceId] } });
		const now = async () => [(await sounds()).length, (await load()).status];
		for (const isKeptAgain of [true, false]) {
			await upload();
			const [first, second] = [await play(), await play()];
			speaker.update(first, "played");
			await ended(first);
			assert.equal((await call("DELETE", `/api/sounds/${sha256}`)).status, 204);
			assert.deepEqual(await now(), [0, 200]);
			if (isKeptAgain) await upload();
			speaker.update(second, "played");
			await ended(second);
			const files = () => fs.readdir(join(dataDir, "sound-files"));
			const tick = () => t.mock.timers.tick(1_000);
			if (isKeptAgain) tick();
			else await waitUntil(async () => (await files()).length === 0, tick);
			assert.deepEqual(await now(), isKeptAgain ? [1, 200] : [0, 404]);
		}
	});

	test("keeps a sound that is uploaded again while it is removed", async (t) => {
		const { upload, device, announce, ended, call, load } = await run(t);
		const speaker = await device("1");
		for (let round = 0; round < 30; round++) {
			await upload();
			const id = await announce({ sound: sha256, targets: { devices: [speaker.deviceId] } });
			assert.equal((await call("DELETE", `/api/sounds/${sha256}`)).status, 204);
			speaker.update(id, "played");
			await Promise.all([upload(), ended(id)]);
			assert.equal((await load()).status, 200, `round ${round}`);
		}
	});

	test("can be replayed until five newer temporary sounds, or until its sound is deleted", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const { device, announce, call, ended, shown, sounds } = await run(t, { dataDir });
		const speaker = await device("1");
		const targets = { devices: [speaker.deviceId] };
		const send = async (samples: number, rest = "&temporary=true") => {
			const { status, body } = await call("POST", `/api/sounds?name=Ben${rest}`, wavOf(tone(samples)));
			assert.equal(status, 201, JSON.stringify(body));
			return String(body.id);
		};
		const play = async (asked: object) => {
			const id = await announce(asked);
			await waitUntil(() => Object(speaker.commands.at(-1)?.value).id === id);
			speaker.update(id, "played");
			await ended(id);
			return id;
		};
		const files = async () => (await fs.readdir(join(dataDir, "sound-files"))).length;
		const again = async (id: string) => (await shown(id)).again;

		const sound = await send(16_000);
		assert.deepEqual(await sounds(), []);
		const asked = { sound, targets, volume: 30 };
		const first = await play(asked);
		assert.deepEqual(await again(first), asked);
		const second = await play(await again(first));
		const { announcements } = (await call("GET", "/api/announcements")).body;
		const listed = announcements.map(({ id, name, devices }: Record<string, unknown>) => [id, name, devices]);
		const expected = [second, first].map((id) => [id, "Ben", undefined]);
		assert.deepEqual(listed, expected);
		for (const more of [1, 2, 3, 4]) await send(16_000 + more);
		assert.deepEqual([await files(), await again(second)], [5, asked]);
		await send(16_000, "");
		await send(16_005);
		assert.deepEqual([await files(), await again(second)], [6, asked], "sound not stored");
		assert.equal((await call("DELETE", `/api/sounds/${sound}`)).status, 204);
		await waitUntil(async () => (await files()) <= 5);
		assert.equal(await again(second), null);
		const latest = await send(16_005);
		await send(16_006);
		assert.equal(await files(), 5);
		assert.equal((await call("DELETE", `/api/sounds/${latest}`)).status, 204);
		assert.equal(await files(), 4, "not deleted");
	});

	test("is rejected with a remedy if it cannot be played", async (t) => {
		const { call, device } = await run(t);
		await device("1");
		const ask = (asked: object) => call("POST", "/api/announcements", { targets: { all: true }, ...asked });
		const at = (targets: object) => ({ url: "http://x/", targets });
		for (const [asked, status, reason] of [
			[{}, 422, /one of sound, url and text/],
			[{ sound: "x", url: "http://x/" }, 422, /one of sound, url and text/],
			[{ text: "\u200b" }, 422, /one of sound, url and text/],
			[{ url: "http://smart_home.lan/a.wav" }, 422, /sound's address must be/],
			[{ url: "http://[2001:db8::1]/a.wav" }, 422, /sound's address must be/],
			[{ sound: "x" }, 422, /Sound x not found/],
			[{ url: "file:///etc/passwd" }, 422, /http:\/\/ or https:\/\//],
			[{ text: "hello" }, 501, /SPEECH_COMMAND/],
			[at({ devices: [] }), 422, /contains no device/],
		] as const) {
			const answer = await ask(asked);
			assert.deepEqual([answer.status, reason.test(answer.body.detail)], [status, true], answer.body.detail);
		}
		assert.equal((await call("GET", "/api/announcements/x")).status, 404);
		const playing: SoundDevice[] = [await device("2"), await device("3"), await device("4")];
		const begin = async (index: number) =>
			(await ask(at({ devices: [playing[index % playing.length]?.deviceId] }))).status;
		for (let index = 0; index < 20; index += 1) assert.equal(await begin(index), 202);
		assert.equal(await begin(0), 409);
	});
});
