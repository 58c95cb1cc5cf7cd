/** What connections may cost whose clients have shown no token. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { Connections } from "../../gateway/connections.js";
import type { FirmwareRoom } from "../../gateway/firmware/room.js";
import { bearer, deviceToken, monitorToken, runGateway, upgradeRequest, withoutFirmware } from "./running.js";

function dial(t: TestContext, url: string): Socket {
	const { hostname, port } = new URL(url);
	const socket = connect(Number(port), hostname).on("error", () => {});
	t.after(() => socket.destroy());
	return socket;
}

/** Resolves at its end, however it ends. */
function closing(socket: Socket): Promise<void> {
	return new Promise((resolve) => socket.once("close", () => resolve()));
}

/** All that comes until the connection is closed. */
async function readAll(socket: Socket): Promise<string> {
	let text = "";
	socket.on("data", (bytes) => {
		text += bytes;
	});
	await closing(socket);
	return text;
}

/** A server that answers when it is told to. */
async function patientServer(t: TestContext) {
	const connections = new Connections({ maxStrangers: 100 });
	const paths: string[] = [];
	const answers: (() => void)[] = [];
	const server = createServer((request, response) => {
		connections.take(request, response);
		paths.push(request.url ?? "");
		answers.push(() => response.end(request.url));
	});
	connections.watch(server, false);
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	t.after(() => server.close());
	const address = server.address();
	const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
	return { url, paths, answers };
}

describe("pipelined requests", () => {
	const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

	test("are few in hand: the others are parsed when those are answered", async (t) => {
		const { url, paths, answers } = await patientServer(t);
		const socket = dial(t, url);
		const sent = Array.from({ length: 1000 }, (_, i) => `/${i}`);
		socket.write(sent.map(request).join(""));
		let received = "";
		socket.on("data", (bytes) => {
			received += bytes;
		});
		while (paths.length < sent.length || answers.length > 0) {
			await new Promise(setImmediate);
			assert.ok(answers.length < 10, `${answers.length} in hand`);
			for (const answer of answers.splice(0)) answer();
		}
		while (!received.endsWith("/999")) await once(socket, "data");
		assert.deepEqual(paths, sent);
		assert.deepEqual(received.match(/(?<=\r\n\r\n)\/\d+/g), sent, "each is answered once, in order");
	});

	test("whose answers are not read take no turn and no memory of the gateway, and are cut off", async (t) => {
		const gateway = await runGateway(t, { limits: { stalledMs: 3000, requestHeadersMs: 300_000 } });
		const page = await (await fetch(gateway.url)).text();
		const script = /src="(.+?)"/.exec(page)?.[1] ?? "";
		const { size } = await (await fetch(new URL(script, gateway.url))).blob();
		assert.ok(size > 50_000, "larger than what the kernel takes, together");
		const before = process.memoryUsage().rss;
		const path = new URL(script, gateway.url).pathname;
		const sockets = Array.from({ length: 4 }, () => dial(t, gateway.url).pause());
		for (const socket of sockets) socket.write(request(path).repeat(1000));
		await gateway.device();
		// A client that does not read is not told that it was cut off, but it cannot send any more.
		for (const socket of sockets) {
			const closed = closing(socket);
			const sending = setInterval(() => socket.write(request(path)), 50);
			t.after(() => clearInterval(sending));
			await closed;
			clearInterval(sending);
			assert.ok(socket.bytesRead < 1000 * size, "all was answered");
		}
		const grown = process.memoryUsage().rss - before;
		assert.ok(grown < 150 * 1024 * 1024, `${grown} bytes`);
	});

	test("of clients without a token are answered one at a time, all connections together, and others' at once", async (t) => {
		let answered = 0;
		const before: Record<string, number> = {};
		const binaries: FirmwareRoom["binaries"] = ({ url }, response) => {
			if (url === "/api/devices") return false;
			if (url === "/stranger") answered += 1;
			else before[url ?? ""] = answered;
			response.end();
			return true;
		};
		const createFirmware = () => ({ ...withoutFirmware(), binaries });
		const gateway = await runGateway(t, { createFirmware });
		const known = dial(t, gateway.url);
		known.write(`GET /api/devices HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${monitorToken}\r\n\r\n`);
		await once(known, "data");
		const late = dial(t, gateway.url);
		const sockets = Array.from({ length: 50 }, () => dial(t, gateway.url).resume());
		await Promise.all([late, ...sockets].map((socket) => once(socket, "connect")));
		// Node may accept one a turn.
		for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
		for (const socket of sockets) socket.write(request("/stranger").repeat(10));
		while (answered < 500) {
			const answeredBefore = answered;
			await new Promise(setImmediate);
			assert.ok(answered < answeredBefore + 5, `${answered - answeredBefore} in one turn`);
			if (answered < 100 || answeredBefore >= 100) continue;
			known.write(request("/known"));
			late.write(request("/late"));
		}
		const { "/known": ofKnown = 500, "/late": ofLate = 500 } = before;
		assert.ok(ofKnown < 125, `one with a token came after ${ofKnown} of 500`);
		assert.ok(ofLate < 200, `another connection came after ${ofLate} of 500`);
	});

	test("before an upgrade, and frames right after it, are all read", async (t) => {
		const gateway = await runGateway(t);
		const monitor = await gateway.monitor();
		const socket = dial(t, gateway.url);
		const ping = Buffer.from([0x89, 0x80, 0, 0, 0, 0]);
		const frames = Buffer.concat(Array.from({ length: 40 }, () => ping));
		socket.write(Buffer.concat([Buffer.from(upgradeRequest("/device", deviceToken)), frames]));
		await monitor.change("connected");
		let pongs = 0;
		for await (const bytes of socket) {
			pongs += Buffer.from(bytes).toString("latin1").split("\x8a\x00").length - 1;
			if (pongs === 40) break;
		}
		assert.equal(pongs, 40);
	});
});

describe("a body that is not wanted", { concurrency: true }, () => {
	const head = (method: string, path: string, length: number | string = 1e12) =>
		`${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;

	for (const [method, path, status] of [
		["POST", "/ota/upload", 401],
		["POST", "/nowhere", 404],
		["POST", "/login", 400],
		["POST", "/healthz", 405],
		["POST", "/ota/firmware.bin", 405],
		["GET", "/healthz", 200],
		["GET", "/ota/firmware.bin", 401],
		["GET", "/", 200],
	] as const) {
		test(`without end is answered ${status} to ${method} ${path}, not swallowed, and cut off`, async (t) => {
			const gateway = await runGateway(t);
			const socket = dial(t, gateway.url);
			const answer = readAll(socket);
			socket.write(head(method, path));
			const chunk = Buffer.alloc(64 * 1024);
			let sent = 0;
			const send = () => {
				while (!socket.destroyed && socket.write(chunk)) sent += chunk.length;
			};
			socket.on("drain", send);
			send();
			assert.match(await answer, new RegExp(`^HTTP/1\\.1 ${status} `));
			assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes`);
		});
	}

	test("that drips holds no request, and no connection", async (t) => {
		const gateway = await runGateway(t);
		for (const path of ["/nowhere", "/healthz", "/ota/upload"]) {
			const socket = dial(t, gateway.url);
			const drip = setInterval(() => socket.write("x"), 100);
			t.after(() => clearInterval(drip));
			const answer = readAll(socket);
			socket.write(head("POST", path));
			assert.match(await answer, /^HTTP\/1\.1 4\d\d .*Connection: close/is);
			clearInterval(drip);
		}
	});

	test("that is small leaves the connection open", async (t) => {
		const gateway = await runGateway(t);
		const socket = dial(t, gateway.url);
		const answer = readAll(socket);
		socket.write(`${head("DELETE", "/api/devices/x", 2)}{}`);
		await once(socket, "data");
		socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
		assert.match(await answer, /^HTTP\/1\.1 401 .*HTTP\/1\.1 200 /s);
	});
});

describe("connections that have shown no token", () => {
	test("are cut off, the oldest first, where there are too many; those that have shown one stay", async (t) => {
		const gateway = await runGateway(t, { limits: { strangers: 5 } });
		const device = await gateway.device();
		const monitor = await gateway.monitor();
		const holder = dial(t, gateway.url);
		const authorization = `Authorization: Bearer ${monitorToken}`;
		holder.write(`GET /api/devices HTTP/1.1\r\nHost: x\r\n${authorization}\r\n\r\n`);
		await once(holder, "data");
		const idle: Socket[] = [];
		for (let i = 0; i < 20; i += 1) {
			const socket = dial(t, gateway.url);
			await once(socket, "connect");
			idle.push(socket);
		}
		const cut = idle.slice(0, 15).map((socket) => (socket.closed ? undefined : closing(socket.resume())));
		await Promise.all(cut);
		await gateway.device(bearer(deviceToken));
		assert.deepEqual(
			[device.socket.readyState, monitor.socket.readyState, holder.closed],
			[device.socket.OPEN, monitor.socket.OPEN, false],
		);
		assert.equal(idle.at(-1)?.closed, false);
	});
});
