import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { Duplex, PassThrough } from "node:stream";
import { describe, type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import { bodyOf } from "../../../gateway/announcements/sounds.js";
import { RequestError } from "../../../gateway/problem.js";
import type { Disk } from "../../../gateway/storage/atomic-file.js";
import { assertSameBytes } from "../../support/bytes.js";
import { Authority, tlsFiles } from "../../support/certificates.js";
import { eventually, nextEvent, waitUntil } from "../../support/eventually.js";
import { listen } from "../../support/ports.js";
import { whyMissing } from "../../support/programs.js";
import {
	bearer,
	deviceToken,
	monitorToken,
	type RunOptions,
	runGateway,
	temporaryDirectory,
} from "../../support/running.js";
import { tone, wav as wavOf } from "../../support/sounds.js";
import { checkFrame } from "../api/schemas.js";
import { ofFleet, SoundDevice, type SoundDeviceOptions } from "./sound-device.js";

const wav = wavOf(tone(16_000));
const sha256 = createHash("sha256").update(wav).digest("hex");
const wavType = { "Content-Type": "audio/wav" };

async function run(t: TestContext, options: RunOptions = {}) {
	const gateway = await runGateway(t, options);
	const call = async (
		method: string,
		path: string,
		body?: Uint8Array | object,
		headers: Record<string, string> = {},
	) => {
		const isFile = body instanceof Uint8Array;
		const response = await fetch(`${gateway.url}${path}`, {
			method,
			headers: { ...bearer(monitorToken), ...(isFile && wavType), ...headers },
			...(body && { body: isFile ? body : JSON.stringify(body) }),
		});
		const text = await response.text();
		return {
			status: response.status,
			headers: response.headers,
			body: text === "" ? undefined : JSON.parse(text),
		};
	};
	const upload = (name = "Dinner") => call("POST", `/api/sounds?name=${encodeURIComponent(name)}`, wav);
	const device = async (serial: string, options: Partial<SoundDeviceOptions> = {}) => {
		const monitor = await gateway.monitor();
		const made = await new SoundDevice({
			url: gateway.url,
			deviceId: `dev-1-00000${serial}`,
			...options,
		}).connect();
		t.after(() => made.close());
		await monitor.until(
			({ type, sessions }) =>
				type === "status_update" && sessions[0]?.deviceId === made.deviceId && sessions[0].state !== null,
		);
		return made;
	};
	const watcher = await gateway.open("/monitor?announcements", { headers: bearer(monitorToken) });
	/** Device states of an announcement after its end. */
	const ended = (id: string) =>
		eventually(
			async () => (await call("GET", `/api/announcements/${id}`)).body,
			({ endedAt }) => endedAt !== null,
		);
	const announce = async (asked: object) => {
		const { status, body } = await call("POST", "/api/announcements", asked);
		assert.equal(status, 202, JSON.stringify(body));
		return String(body.id);
	};
	return { ...gateway, call, upload, device, watcher, ended, announce };
}

const states = (announcement: {
	readonly devices: readonly { readonly deviceId: string; readonly state: string }[];
}) => Object.fromEntries(announcement.devices.map(({ deviceId, state }) => [deviceId, state]));

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

		const { call, url } = await run(t, { dataDir });
		assert.deepEqual((await call("GET", "/api/sounds")).body, {
			sounds: [{ ...rest, createdAt }],
			canSpeak: false,
		});
		const served = await fetch(`${url}/sounds/${sha256}.wav`, { headers: bearer(deviceToken) });
		assertSameBytes(Buffer.from(await served.arrayBuffer()), wav);
		const names = [...served.headers.keys()].filter((name) => !["connection", "keep-alive"].includes(name));
		const read = ["accept-ranges", "cache-control", "content-length", "content-type", "date", "etag"];
		assert.deepEqual(names, read, "header read byte by byte");
		const part = await fetch(`${url}/sounds/${sha256}.wav`, {
			headers: { ...bearer(deviceToken), Range: "bytes=100-199" },
		});
		assert.equal(part.status, 206);
		assertSameBytes(Buffer.from(await part.arrayBuffer()), wav.subarray(100, 200));
		assert.equal((await fetch(`${url}/sounds/${sha256}.wav`)).status, 401);
		assert.equal((await call("DELETE", `/api/sounds/${sha256}`)).status, 204);
		assert.equal((await call("DELETE", `/api/sounds/${sha256}`)).status, 404);
		assert.deepEqual((await call("GET", "/api/sounds")).body, { sounds: [], canSpeak: false });
		assert.deepEqual(await fs.readdir(join(dataDir, "sound-files")), []);
	});

	test("is sent in TLS records that a device decrypts within 20 ms", {
		skip: whyMissing("openssl"),
	}, async (t) => {
		const folder = await temporaryDirectory(t);
		const authority = new Authority(folder, "test");
		const { url } = await run(t, {
			tls: tlsFiles(folder, authority.issue("IP:127.0.0.1")),
			authority: authority.certificate,
		});
		const socket = connect(Number(new URL(url).port), "127.0.0.1");
		t.after(() => socket.destroy());
		const encrypted: Buffer[] = [];
		const read = new PassThrough();
		socket.on("data", (chunk: Buffer) => encrypted.push(chunk)).pipe(read);
		const stream = Duplex.from({ readable: read, writable: socket });
		const secure = connectTls({
			socket: stream,
			ca: authority.certificate,
			host: "127.0.0.1",
			maxVersion: "TLSv1.2",
		});
		await nextEvent(secure, "secureConnect");
		const handshakeBytes = Buffer.concat(encrypted).length;
		const ask = (
			start: string,
			token: string,
			fields: readonly string[],
			body: Uint8Array = new Uint8Array(),
		) => {
			const lines = [`${start} HTTP/1.1`, "Host: x", `Authorization: Bearer ${token}`, ...fields];
			secure.write(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), body]));
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
		for (let at = 0; at < records.length; at += 5 + records.readUInt16BE(at + 3))
			// Includes the nonce and tag of AES-GCM.
			assert.ok(
				records.readUInt16BE(at + 3) <= 2048 + 24,
				`a record of ${records.readUInt16BE(at + 3)} bytes`,
			);
	});

	test("is rejected with a reason if no device can play it, and leaves nothing", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const { call } = await run(t, { dataDir });
		const stereo = Buffer.from(wav);
		stereo.writeUInt16LE(2, 22);
		for (const [body, reason] of [
			[
				Buffer.from("ID3\x04\0\0\0\0\0\0TSSE"),
				/^The file is an MP3; it must be a WAV of 16000 Hz, mono, 16 bit PCM\.$/,
			],
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
		assert.equal(
			(await call("POST", "/api/sounds?name=x", wav, { "Content-Type": "multipart/form-data" })).status,
			415,
		);
		for (const name of ["", "%20", "%E2%80%8B"])
			assert.equal((await call("POST", `/api/sounds?name=${name}`, wav)).status, 422);
		assert.deepEqual(await fs.readdir(join(dataDir, "sound-files")), []);
		assert.deepEqual((await call("GET", "/api/sounds")).body, { sounds: [], canSpeak: false });
	});

	test("is not stored if its upload is aborted", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const { url, call } = await run(t, { dataDir });
		const socket = connect(Number(new URL(url).port), "127.0.0.1");
		socket.write(
			`POST /api/sounds?name=x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${monitorToken}\r\nContent-Type: audio/wav\r\nContent-Length: ${wav.length}\r\n\r\n`,
		);
		socket.write(wav.subarray(0, 5_000));
		await waitUntil(async () => (await fs.readdir(join(dataDir, "sound-files"))).length > 0);
		socket.destroy();
		await waitUntil(async () => (await fs.readdir(join(dataDir, "sound-files"))).length === 0);
		assert.deepEqual((await call("GET", "/api/sounds")).body, { sounds: [], canSpeak: false });
	});

	test("keeps its name if a new one cannot be written", async (t) => {
		let isRejected = false;
		const refuse = () => Promise.reject(Object.assign(new Error("no space"), { code: "ENOSPC" }));
		const open: Disk["open"] = (path, ...words) =>
			isRejected && String(path).includes(".json") ? refuse() : fs.open(path, ...words);
		const { call, upload, url } = await run(t, { disk: { ...fs, open } });
		assert.equal((await upload("Dinner")).status, 201);
		isRejected = true;
		assert.equal((await upload("Lunch")).status, 507);
		isRejected = false;
		assert.equal((await call("GET", "/api/sounds")).body.sounds[0]?.name, "Dinner");
		const served = await fetch(`${url}/sounds/${sha256}.wav`, { headers: bearer(deviceToken) });
		assert.equal(served.status, 200);
	});

	test("is kept if its record cannot be read at the start", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await run(t, { dataDir });
		await first.upload();
		await first.gateway.close();
		const emfile = () => Promise.reject(Object.assign(new Error("too many"), { code: "EMFILE" }));
		const readFile = new Proxy(fs.readFile, {
			apply: (target, self, [path, ...rest]) =>
				String(path).endsWith(`${sha256}.json`) ? emfile() : Reflect.apply(target, self, [path, ...rest]),
		});
		const second = await run(t, { dataDir, disk: { ...fs, readFile } });
		assert.deepEqual((await second.call("GET", "/api/sounds")).body.sounds, []);
		await second.gateway.close();
		const { url } = await run(t, { dataDir });
		const served = await fetch(`${url}/sounds/${sha256}.wav`, { headers: bearer(deviceToken) });
		assert.ok(Buffer.from(await served.arrayBuffer()).equals(wav), "sound is missing");
	});

	test("returns 507 on a full disk, and leaves nothing", async (t) => {
		let isFull = false;
		const full = () => Promise.reject(Object.assign(new Error("no space"), { code: "ENOSPC" }));
		const disk: Disk = { ...fs, open: (...words) => (isFull ? full() : fs.open(...words)) };
		const { call, upload } = await run(t, { disk });
		isFull = true;
		assert.equal((await upload()).status, 507);
		isFull = false;
		assert.deepEqual((await call("GET", "/api/sounds")).body, { sounds: [], canSpeak: false });
		assert.equal((await upload()).status, 201);
		isFull = true;
		assert.equal((await call("DELETE", `/api/sounds/${sha256}`)).status, 507);
		assert.equal((await call("GET", "/api/sounds")).body.sounds.length, 1);
	});
});

test("rejects a stalled upload, one that trickles, and an incomplete one", async (t) => {
	const requests: IncomingMessage[] = [];
	const server = createServer((request) => requests.push(request));
	const port = await listen(t, server);
	const trickle = (socket: Socket) => {
		const timer = setInterval(() => socket.write("d"), 10);
		socket.once("close", () => clearInterval(timer));
	};
	for (const [end, status] of [
		[() => {}, 408],
		[trickle, 408],
		[(socket: Socket) => socket.destroy(), 400],
	] as const) {
		const socket = connect(port, "127.0.0.1");
		t.after(() => socket.destroy());
		socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nabc");
		await waitUntil(() => requests.length > 0);
		const [request] = requests.splice(0);
		assert.ok(request, "no request was received");
		const chunks = bodyOf(request, status === 408 ? 50 : 30_000)[Symbol.asyncIterator]();
		assert.equal(String((await chunks.next()).value), "abc");
		end(socket);
		const readAll = async () => {
			while (!(await chunks.next()).done);
		};
		await assert.rejects(
			readAll,
			(error) => error instanceof RequestError && error.rejection.status === status,
		);
	}
});

describe("announcement", () => {
	test(
		"plays in a room at once, with a result for each device, visible to subscribed monitors",
		ofFleet,
		async (t) => {
			const { call, upload, device, announce, ended, watcher, url } = await run(t);
			await upload();
			const devices = [await device("1"), await device("2"), await device("3")];
			for (const { deviceId } of devices.slice(0, 2))
				await call("PATCH", `/api/devices/${deviceId}`, { room: "Kitchen" });
			const id = await announce({ sound: sha256, targets: { room: "Kitchen" }, volume: 30 });
			const waits = { priority: "normal", expires: 300 };
			const value = { id, url: `${url}/sounds/${sha256}.wav`, volume: 30, ready: true, ...waits };
			for (const each of devices.slice(0, 2)) {
				await each.receives({ command: "start_sound", value: { id } });
				assert.deepEqual(each.commands.at(-2), { command: "play_sound", value });
				each.update(id, "played", { heard_ms: 500, underruns: 0 });
			}
			const { counts, devices: parts, name, by } = await ended(id);
			assert.deepEqual([name, by, counts.played, parts.length], ["Dinner", "monitor", 2, 2]);
			assert.deepEqual([parts[0].heardMs, parts[0].lateMs], [500, null]);
			for (;;) {
				const frame = await watcher.next();
				checkFrame(frame);
				if (frame.type !== "announcement_update") continue;
				assert.deepEqual([Object(frame).name, Object(frame).by], [name, by]);
				if (Object(frame).isOver) break;
			}
			assert.deepEqual(devices[2]?.commands, []);
		},
	);

	test("shows for each device why it does not play", async (t) => {
		const { upload, device, announce, ended } = await run(t);
		await upload();
		const gone = await device("4");
		gone.close();
		await device("1", { does: "is busy" });
		await device("2", { does: "fails" });
		await device("3", { features: ["identify"] });
		const playing = await device("5");
		const id = await announce({ sound: sha256, targets: { all: true } });
		await playing.receives({ command: "start_sound", value: { id } });
		playing.close();
		const announcement = await ended(id);
		assert.deepEqual(states(announcement), {
			"dev-1-000001": "busy",
			"dev-1-000002": "failed",
			"dev-1-000003": "unsupported",
			"dev-1-000004": "away",
			"dev-1-000005": "away",
		});
		assert.equal(
			announcement.devices.find(({ state }: { state: string }) => state === "failed").reason,
			"404 Not Found",
		);
		await playing.connect();
		playing.update(id, "played", { heard_ms: 500 });
		await waitUntil(async () => states(await ended(id))["dev-1-000005"] === "played");
	});

	test("starts immediately on one device, and can be stopped", async (t) => {
		const { upload, device, announce, ended, call } = await run(t);
		await upload();
		const one = await device("1");
		const id = await announce({ sound: sha256, targets: { devices: [one.deviceId] } });
		await waitUntil(
			async () => states((await call("GET", `/api/announcements/${id}`)).body)[one.deviceId] === "playing",
		);
		assert.deepEqual(
			one.commands.map(({ command }) => command),
			["play_sound"],
		);
		assert.equal((await call("DELETE", `/api/announcements/${id}`)).status, 204);
		const { devices } = await ended(id);
		assert.deepEqual([devices[0].state, devices[0].reason, devices[0].heardMs], ["stopped", "command", 40]);
	});

	test("plays a deleted sound to its end, which is then removed unless stored again", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const { url, upload, device, announce, call } = await run(t, { dataDir });
		const one = await device("1");
		const targets = { devices: [one.deviceId] };
		const listed = async () => (await call("GET", "/api/sounds")).body.sounds.length;
		const served = async () =>
			(await fetch(`${url}/sounds/${sha256}.wav`, { headers: bearer(deviceToken) })).status;
		for (const isKeptAgain of [true, false]) {
			await upload();
			const first = await announce({ sound: sha256, targets });
			const second = await announce({ sound: sha256, targets });
			one.update(first, "played");
			await waitUntil(async () => (await call("GET", `/api/announcements/${first}`)).body.endedAt !== null);
			assert.equal((await call("DELETE", `/api/sounds/${sha256}`)).status, 204);
			assert.deepEqual([await listed(), await served()], [0, 200]);
			if (isKeptAgain) await upload();
			one.update(second, "played");
			if (isKeptAgain) {
				await setTimeout(600);
				assert.deepEqual([await listed(), await served()], [1, 200], "after the next tick");
			} else await waitUntil(async () => (await fs.readdir(join(dataDir, "sound-files"))).length === 0);
		}
		assert.equal(await served(), 404);
	});

	test("can be replayed until five newer temporary sounds, or until its sound is deleted", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const { device, announce, call, ended } = await run(t, { dataDir });
		const one = await device("1");
		const targets = { devices: [one.deviceId] };
		const send = async (samples: number, rest = "&temporary=true") => {
			const file = wavOf(tone(samples));
			const { status, body } = await call("POST", `/api/sounds?name=Ben${rest}`, file);
			assert.equal(status, 201, JSON.stringify(body));
			return String(body.id);
		};
		const play = async (asked: object) => {
			const id = await announce(asked);
			await waitUntil(() => !(!one.urls.length || one.commands.at(-1)?.command !== "play_sound"));
			one.update(id, "played");
			await ended(id);
			return id;
		};
		const files = async () => (await fs.readdir(join(dataDir, "sound-files"))).length;
		const again = async (id: string) => (await call("GET", `/api/announcements/${id}`)).body.again;

		const sound = await send(16_000);
		assert.deepEqual((await call("GET", "/api/sounds")).body.sounds, []);
		const asked = { sound, targets, volume: 30 };
		const first = await play(asked);
		assert.deepEqual(await again(first), asked);
		const second = await play(await again(first));
		const { announcements } = (await call("GET", "/api/announcements")).body;
		assert.deepEqual(
			announcements.map(({ id, name, devices }: Record<string, unknown>) => [id, name, devices]),
			[second, first].map((id) => [id, "Ben", undefined]),
		);
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

	test("sends a URL to the device unchanged", async (t) => {
		const { device, announce } = await run(t);
		const one = await device("1");
		await announce({ url: "http://radio.example/a.wav", targets: { devices: [one.deviceId] } });
		await waitUntil(() => one.urls.length > 0);
		assert.deepEqual(one.urls, ["http://radio.example/a.wav"]);
	});

	test("is rejected with a remedy if it cannot be played", async (t) => {
		const { call, device } = await run(t);
		await device("1");
		const all = { all: true };
		for (const [asked, status, reason] of [
			[{ targets: all }, 422, /one of sound, url and text/],
			[{ sound: "x", url: "http://x/", targets: all }, 422, /one of sound, url and text/],
			[{ text: "\u200b", targets: all }, 422, /one of sound, url and text/],
			[{ url: "http://x/", targets: { room: " " } }, 422, /targets is one of/],
			[{ url: "http://smart_home.lan/a.wav", targets: all }, 422, /sound's address must be/],
			[{ url: "http://[2001:db8::1]/a.wav", targets: all }, 422, /sound's address must be/],
			[{ sound: "x", targets: all }, 422, /Sound x not found/],
			[{ url: "file:///etc/passwd", targets: all }, 422, /http:\/\/ or https:\/\//],
			[
				{ url: "http://x/", targets: {} },
				422,
				/targets must be an object with at least one of all, room, tags, devices, and nothing/,
			],
			[{ url: "http://x/", targets: { all: true, room: "Kitchen" } }, 422, /targets is one of/],
			[
				{ url: "http://x/", targets: { room: "Attic" } },
				422,
				/No device is in the room Attic; there is no room\./,
			],
			[{ url: "http://x/", targets: { devices: [] } }, 422, /contains no device/],
			[{ text: "hello", targets: all }, 501, /SPEECH_COMMAND/],
		] as const) {
			const answer = await call("POST", "/api/announcements", asked);
			assert.deepEqual([answer.status, reason.test(answer.body.detail)], [status, true], answer.body.detail);
		}
		assert.equal((await call("GET", "/api/announcements/x")).status, 404);
		const playing = [await device("2"), await device("3"), await device("4")];
		const askedOf = (index: number) => ({
			url: "http://x/",
			targets: { devices: [playing[index % playing.length]?.deviceId] },
		});
		for (let index = 0; index < 20; index += 1)
			assert.equal((await call("POST", "/api/announcements", askedOf(index))).status, 202);
		assert.equal((await call("POST", "/api/announcements", askedOf(0))).status, 409);
	});
});
