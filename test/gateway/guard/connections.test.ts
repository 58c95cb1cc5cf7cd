/** Tests of resource limits for connections without a token. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { Router } from "express";
import { deviceTokenOf } from "../../../gateway/access/secrets.js";
import type { CreateExtension } from "../../../gateway/extension.js";
import { extensions } from "../../../gateway/extensions.js";
import type { FirmwareService } from "../../../gateway/firmware/service.js";
import type { GatewayOptions } from "../../../gateway/gateway.js";
import { Connections } from "../../../gateway/guard/connections.js";
import { Authority, tlsFiles } from "../../support/certificates.js";
import { onEnd } from "../../support/cleanup.js";
import { nextEvent, waitUntil, within } from "../../support/eventually.js";
import { listen } from "../../support/ports.js";
import { whyMissing } from "../../support/programs.js";
import {
	bearer,
	deviceToken,
	monitorToken,
	runGateway,
	runWatched,
	upgradeRequest,
} from "../../support/running.js";

const folder = mkdtempSync(join(tmpdir(), "connections-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const skip = whyMissing("openssl");
const secured = skip ? undefined : certify();

function certify() {
	const authority = new Authority(folder, "test");
	const certificate = authority.issue("IP:127.0.0.1");
	return { authority: authority.certificate, certificate, tls: tlsFiles(folder, certificate) };
}

function dial(t: TestContext, url: string): Socket {
	const { protocol, hostname, port } = new URL(url);
	const isTls = protocol === "https:";
	const socket = isTls
		? connectTls({ host: hostname, port: Number(port), ca: secured?.authority })
		: connect(Number(port), hostname);
	socket.on("error", () => {});
	// Closed before its server, which would wait for it.
	onEnd(t, () => socket.destroy());
	return socket;
}

/** Resolves when the socket closes. */
function closing(socket: Socket): Promise<void> {
	return within(new Promise((resolve) => socket.once("close", () => resolve())), "the end of a connection");
}

/** Reads everything until the connection closes. */
async function readAll(socket: Socket): Promise<string> {
	let text = "";
	socket.on("data", (bytes) => {
		text += bytes;
	});
	await closing(socket);
	return text;
}

/** Server whose responses the test controls. */
async function runHeldServer(t: TestContext, isTls: boolean) {
	const connections = new Connections({ maxUnauthenticated: 100, monotonic: () => performance.now() });
	const paths: string[] = [];
	const delayed: string[] = [];
	const answers: (() => void)[] = [];
	const answerLater: RequestListener = (request, response) => {
		const isKnown = request.url === "/known";
		if (connections.onRequest(request, response, isKnown)) delayed.push(request.url ?? "");
		if (isKnown) connections.admit(request.socket);
		paths.push(request.url ?? "");
		answers.push(() => response.end(request.url));
	};
	const server = isTls ? createTlsServer(secured?.certificate ?? {}, answerLater) : createServer(answerLater);
	connections.watch(server, isTls);
	const url = `${isTls ? "https" : "http"}://127.0.0.1:${await listen(t, server)}`;
	return { url, paths, delayed, answers };
}

const request = (path: string, ...headers: readonly string[]) =>
	[`GET ${path} HTTP/1.1`, "Host: x", ...headers, "", ""].join("\r\n");
const head = (method: string, path: string, length = 1e12) =>
	request(path, `Content-Length: ${length}`).replace("GET", method);

for (const isTls of [false, true])
	describe(isTls ? "over TLS" : "without TLS", { skip: isTls && skip }, () => {
		const run = (t: TestContext, options: GatewayOptions = {}) =>
			runGateway(t, {
				...options,
				...(isTls && secured && { tls: secured.tls, authority: secured.authority }),
			});

		describe("pipelined requests", () => {
			test("are parsed a few at a time", async (t) => {
				const { url, paths, answers } = await runHeldServer(t, isTls);
				const socket = dial(t, url);
				const sent = Array.from({ length: 1000 }, (_, i) => `/${i}`);
				socket.write(sent.map((path) => request(path)).join(""));
				let received = "";
				socket.on("data", (bytes) => {
					received += bytes;
				});
				await waitUntil(
					() => paths.length === sent.length && answers.length === 0,
					async () => {
						await new Promise(setImmediate);
						assert.ok(answers.length < 10, `${answers.length} in hand`);
						for (const answer of answers.splice(0)) answer();
					},
				);
				await waitUntil(
					() => received.endsWith("/999"),
					() => once(socket, "data"),
				);
				assert.deepEqual(paths, sent);
				assert.deepEqual(received.match(/(?<=\r\n\r\n)\/\d+/g), sent, "each is answered once, in order");
			});

			test("are parsed for four connections per turn of the event loop", async (t) => {
				const { url, paths, answers } = await runHeldServer(t, isTls);
				const sockets = Array.from({ length: 50 }, () => dial(t, url));
				await Promise.all(sockets.map((socket) => once(socket, isTls ? "secureConnect" : "connect")));
				for (const socket of sockets) socket.write(request("/"));
				let most = 0;
				await waitUntil(
					() => paths.length >= sockets.length,
					async () => {
						const parsed = paths.length;
						await new Promise(setImmediate);
						most = Math.max(most, paths.length - parsed);
						for (const answer of answers.splice(0)) answer();
					},
				);
				assert.ok(most <= 8, `${most} in one turn`);
			});
		});

		describe("connections without a token", () => {
			test("are disconnected above the limit, oldest first; those with a token stay open", async (t) => {
				const gateway = await run(t, { limits: { unauthenticatedConnections: 5 } });
				const device = await gateway.device();
				const monitor = await gateway.monitor();
				const holder = dial(t, gateway.url);
				holder.write(request("/metrics", `Authorization: Bearer ${monitorToken}`));
				await nextEvent(holder, "data");
				const idle: Socket[] = [];
				for (let i = 0; i < 20; i += 1) {
					const socket = dial(t, gateway.url);
					await nextEvent(socket, "connect");
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
	});

describe("pipelined requests", () => {
	test("use no CPU time or memory while responses are unread, and are disconnected", async (t) => {
		const path = "/large";
		// A thousand are more than what the kernel takes.
		const size = 100_000;
		const large: CreateExtension = () => ({
			pages: Router().get(path, (_request, response) => void response.end(Buffer.alloc(size))),
		});
		const limits = { stalledMs: 500, requestHeadersMs: 300_000 };
		const gateway = await runGateway(t, { limits, extensions: [...extensions, large] });
		const before = process.memoryUsage().rss;
		const sockets = Array.from({ length: 4 }, () => dial(t, gateway.url).pause());
		for (const socket of sockets) socket.write(request(path).repeat(1000));
		await gateway.device();
		// A client that does not read does not see the end of its connection, but it cannot send any more. What it
		// sends counts as traffic until the gateway reads no more of it either.
		const closed = sockets.map(async (socket) => {
			const sending = setInterval(() => socket.write(request(path).repeat(100)), 50);
			onEnd(t, () => clearInterval(sending));
			await closing(socket);
			clearInterval(sending);
			assert.ok(socket.bytesRead < 1000 * size, "all was answered");
		});
		await Promise.all(closed);
		const grown = process.memoryUsage().rss - before;
		assert.ok(grown < 150 * 1024 * 1024, `${grown} bytes`);
	});

	test("are delayed without a token, because proxies share connections", async (t) => {
		const { url, paths, delayed, answers } = await runHeldServer(t, false);
		const socket = dial(t, url).resume();
		const sent = ["/first", "/known", "/known", "/second", "/third"];
		for (const path of sent) {
			socket.write(request(path));
			await waitUntil(() => answers.length > 0);
			for (const answer of answers.splice(0)) answer();
		}
		assert.deepEqual(paths, sent);
		assert.deepEqual(delayed, ["/first", "/second", "/third"]);
	});

	test("are answered one at a time without a token, and immediately with one", async (t) => {
		let answered = 0;
		const before: Record<string, number> = {};
		const binaries: FirmwareService["binaries"] = ({ url }, response) => {
			if (url?.startsWith("/login?")) return false;
			if (url === "/tokenless") answered += 1;
			else before[url ?? ""] = answered;
			response.end();
			return true;
		};
		const stub: CreateExtension = ({ firmware }) => {
			t.mock.method(firmware, "binaries", binaries);
			return {};
		};
		const gateway = await runGateway(t, { extensions: [...extensions, stub] });
		const loggingIn = dial(t, gateway.url);
		const { pathname, search } = new URL(gateway.loginUrl);
		loggingIn.write(head("POST", pathname + search, 0).replace("Host: x", "Host: x\r\nConnection: close"));
		const [, cookie] = /set-cookie: (.+?);/i.exec(await readAll(loggingIn)) ?? [];
		const known = {
			"/monitor": `Authorization: Bearer ${monitorToken}`,
			"/device": `Authorization: Bearer ${deviceToken}`,
			"/one-device": `Authorization: Bearer ${deviceTokenOf(deviceToken, "one")}`,
			"/login": `Cookie: ${cookie}`,
		};
		const knownSockets = Object.entries(known).map(([path, header]) => ({
			socket: dial(t, gateway.url),
			text: request(path, header),
		}));
		const late = dial(t, gateway.url);
		const sockets = Array.from({ length: 50 }, () => dial(t, gateway.url).resume());
		const dialled = [late, ...sockets, ...knownSockets.map(({ socket }) => socket)];
		await Promise.all(dialled.map((socket) => once(socket, "connect")));
		// Node may accept one a turn.
		for (let turn = 0; turn < 200; turn += 1) await new Promise(setImmediate);
		for (const socket of sockets) socket.write(request("/tokenless").repeat(10));
		await waitUntil(
			() => answered >= 500,
			async () => {
				const answeredBefore = answered;
				await new Promise(setImmediate);
				assert.ok(answered < answeredBefore + 5, `${answered - answeredBefore} in one turn`);
				if (answered < 100 || answeredBefore >= 100) return;
				late.write(request("/late"));
				for (const { socket, text } of knownSockets) socket.write(text);
			},
		);
		const { "/late": ofLate = 500 } = before;
		assert.ok(ofLate < 200, `one without a token came after ${ofLate} of 500`);
		for (const path of Object.keys(known)) {
			const { [path]: of = 500 } = before;
			assert.ok(of < ofLate, `${path}, with a token, came after ${of}, one without after ${ofLate}`);
		}
	});

	test("are all read before an upgrade, like frames right after it", async (t) => {
		const { gateway, monitor } = await runWatched(t);
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

describe("unexpected body", () => {
	test("is answered, not read, and disconnected", async (t) => {
		const gateway = await runGateway(t);
		t.mock.timers.enable({ apis: ["setTimeout"] });
		for (const [method, path, status] of [
			["POST", "/ota/upload", 401],
			["POST", "/nowhere", 404],
			["POST", "/login", 400],
			["POST", "/healthz", 405],
			["POST", "/ota/firmware.bin", 405],
			["GET", "/healthz", 200],
			["GET", "/ota/firmware.bin", 401],
		] as const) {
			const socket = dial(t, gateway.url);
			const answer = nextEvent(socket, "data");
			socket.write(head(method, path));
			const chunk = Buffer.alloc(64 * 1024);
			let sent = 0;
			const send = () => {
				while (!socket.destroyed && socket.write(chunk)) sent += chunk.length;
			};
			socket.on("drain", send);
			send();
			const [text] = await answer;
			socket.resume();
			await waitUntil(
				() => socket.closed,
				async () => {
					await new Promise(setImmediate);
					t.mock.timers.tick(1000);
				},
			);
			assert.match(String(text), new RegExp(`^HTTP/1\\.1 ${status} `), `${method} ${path}`);
			assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes`);
		}
	});

	test("keeps the connection open if small", async (t) => {
		const gateway = await runGateway(t);
		const socket = dial(t, gateway.url);
		const answer = readAll(socket);
		socket.write(`${head("GET", "/metrics", 2)}{}`);
		await nextEvent(socket, "data");
		socket.write(request("/healthz", "Connection: close"));
		assert.match(await answer, /^HTTP\/1\.1 401 .*HTTP\/1\.1 200 /s);
	});
});

test("an incomplete body is rejected after 10 s, and disconnected", async (t) => {
	const gateway = await runGateway(t);
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const socket = dial(t, gateway.url);
	let text = "";
	socket.on("data", (bytes) => {
		text += bytes;
	});
	socket.write(`${head("POST", "/login", 100)}token=`);
	let seconds = 0;
	await waitUntil(
		() => socket.closed,
		async () => {
			await new Promise(setImmediate);
			t.mock.timers.tick(100);
			if (text === "") seconds += 0.1;
		},
	);
	assert.match(text, /^HTTP\/1\.1 400 .*within 10 s/s);
	assert.ok(seconds >= 9.9, `after ${seconds} s`);
});

test("treats upgrade requests for another protocol as ordinary ones", async (t) => {
	const { url } = await runGateway(t);
	const answerTo = async (text: string) => {
		const socket = dial(t, url);
		socket.write(text);
		const [answer] = await nextEvent(socket, "data");
		socket.destroy();
		return String(answer);
	};
	const h2c = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"];
	for (const [path, status] of Object.entries({ "/healthz": 200, "/device": 426, "/nowhere": 404 }))
		assert.match(await answerTo(request(path, ...h2c)), new RegExp(`^HTTP/1\\.1 ${status} `));
	const form = `token=${monitorToken}`;
	const headers = ["Content-Type: application/x-www-form-urlencoded", `Content-Length: ${form.length}`];
	const login = request("/login", ...h2c, ...headers, "Connection: close").replace("GET", "POST");
	assert.match(await answerTo(login + form), /^HTTP\/1\.1 303 /);
});
