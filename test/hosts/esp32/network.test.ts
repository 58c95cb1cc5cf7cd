/** Network clients of a board over the SDK's: nesting of sockets, and containment of exceptions. */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { Host, WebSocketClientOptions } from "../../../device/host.js";
import { Bench, load, loadBoard } from "./board-bench.js";

const tcp = "embedded:io/socket/tcp";
const tls = "embedded:io/socket/tcp/tls";
const httpClient = "embedded:network/http/client";
const webSocketClient = "embedded:network/websocket/client";
const certificate = "MAMCAQU=";
const der = Uint8Array.of(0x30, 0x03, 0x02, 0x01, 0x05);

async function board(): Promise<{ bench: Bench; device: Host }> {
	const bench = new Bench();
	return { bench, device: await loadBoard("dev-1", bench) };
}

/** Method or callback of an untyped object. */
function call(target: unknown, name: string, ...values: unknown[]): unknown {
	const method: unknown = Reflect.get(Object(target), name);
	assert.ok(typeof method === "function", `no ${name}`);
	return Reflect.apply(method, target, values);
}

/** Constructs the socket as the SDK's clients do, from the options they receive. */
function makeSocket(client: Readonly<Record<string, unknown>>, callbacks: object = {}): object {
	const socket = client.socket;
	const io: unknown = Reflect.get(Object(socket), "io");
	assert.ok(typeof io === "function", "the client has no socket class");
	return Reflect.construct(io, [
		{ ...Object(socket), address: "10.0.0.2", host: "gateway", port: 443, ...callbacks },
	]);
}

// Uint8Array.fromBase64, which Node before 25 lacks.
before(() =>
	Reflect.set(Uint8Array, "fromBase64", (text: string) => {
		if (!/^[\w+/]*=*$/.test(text)) throw new SyntaxError("invalid base64");
		return new Uint8Array(Buffer.from(text, "base64"));
	}),
);

/** First line of a response that accepts the upgrade. */
const switching = Buffer.from("HTTP/1.1 101 Switching Protocols\r\n");

describe("WebSocket", () => {
	function open(
		device: Host,
		part: "ws" | "wss",
		more: {
			certificate?: string;
			onUntrusted?: () => void;
			onRejected?: WebSocketClientOptions["onRejected"];
		} = {},
	): void {
		new device.network[part]({
			host: "gateway:8080",
			port: 8080,
			path: "/device",
			headers: [["Authorization", "Bearer token"]],
			certificate: undefined,
			dns: { io: device.network.dns },
			onReadable: () => {},
			onWritable: () => {},
			onControl: () => {},
			...more,
			onClose: () => {},
			onError: () => {},
		});
	}

	test("turns an exception of the SDK in TCP callbacks into a socket error", async () => {
		const { bench, device } = await board();
		open(device, "ws");
		let errors = 0;
		makeSocket(bench.optionsOf(webSocketClient), {
			onReadable: () => {
				throw new Error("bad frame");
			},
			onError: () => {
				errors += 1;
			},
		});
		bench.incoming.push(...switching);
		call(bench.optionsOf(tcp), "onReadable", bench.incoming.length);
		call(bench.optionsOf(tcp), "onError");
		assert.equal(errors, 1);
		assert.match(bench.traced.join(""), /bad frame/);
	});

	test("with TLS: trusts the given certificate authority, and reports why it trusts no other", async () => {
		const { bench, device } = await board();
		const onUntrusted = () => {};
		open(device, "wss", { certificate, onUntrusted });
		assert.equal(bench.optionsOf(webSocketClient).onUntrusted, undefined);
		makeSocket(bench.optionsOf(webSocketClient));
		assert.deepEqual(bench.optionsOf(tls).secure, { certificate: der, cache: false, onUntrusted });
	});
});

describe("Wi-Fi station", () => {
	test("distinguishes a wrong password, an absent access point and two kinds of loss by ESP-IDF's reasons", async () => {
		const { bench, device } = await board();
		const station = new device.network.wifi({ onChanged: () => {} });
		const wrong = { 15: "wrong_password", 202: "wrong_password", 204: "wrong_password" };
		const ended = {
			2: "ended_by_access_point",
			8: "ended_by_access_point",
			205: "ended_by_access_point",
		};
		bench.natives.board_wifi_has_joined = 1;
		const expected = { ...wrong, ...ended, 200: "signal_lost" };
		for (const reason of [0, 2, 8, 15, 200, 201, 202, 204, 205, 210, 211, 212]) {
			bench.natives.board_wifi_reason = reason;
			const absent = [201, 210, 211, 212].includes(reason) ? "no_access_point" : undefined;
			assert.equal(
				station.reason,
				new Map(Object.entries(expected)).get(String(reason)) ?? absent,
				String(reason),
			);
		}
	});

	test("treats the reasons of an access point that never accepted it as a rejected password", async () => {
		const { bench, device } = await board();
		const station = new device.network.wifi({ onChanged: () => {} });
		for (const reason of [2, 205]) {
			bench.natives.board_wifi_reason = reason;
			assert.equal(station.reason, "wrong_password");
		}
		bench.natives.board_wifi_reason = 8;
		assert.equal(station.reason, "ended_by_access_point");
	});
});

describe("HTTP client", () => {
	const common = (device: Host) => ({
		host: "gateway:8080",
		port: 8080,
		dns: { io: device.network.dns },
		onError: () => {},
	});
	const request = {
		path: "/firmware",
		headers: new Map(),
		headersMask: ["etag", "transfer-encoding"],
		onReadable: () => {},
		onDone: () => {},
	};

	test("with TLS: trusts the given authority or no one", async () => {
		const { bench, device } = await board();
		const secureWith = (certificate: string | undefined) => {
			new device.network.https({ ...common(device), certificate });
			assert.equal(bench.optionsOf(httpClient).certificate, undefined);
			makeSocket(bench.optionsOf(httpClient));
			return bench.optionsOf(tls).secure;
		};
		assert.deepEqual(secureWith(undefined), { cache: false, onUntrusted: undefined });
		assert.deepEqual(secureWith(certificate), { certificate: der, cache: false, onUntrusted: undefined });
	});

	/** Latest request, with the callbacks for the SDK. */
	function asked(bench: Bench): unknown {
		const made = bench.requests.at(-1);
		assert.ok(made, "no request was made");
		return made;
	}

	test("ends at a chunked body, which the SDK would read in an unguarded timer", async () => {
		const { bench, device } = await board();
		const client = new device.network.http(common(device));
		client.request({ ...request, onHeaders: () => {} });
		const chunked = new Map([["transfer-encoding", "chunked"]]);
		assert.throws(() => call(asked(bench), "onHeaders", 200, chunked), /chunked/);
	});
});

describe("TLS session", () => {
	async function session(): Promise<{ bench: Bench; session: object }> {
		const bench = new Bench();
		const { default: Session } = await load("moddable/tls/session.ts", bench);
		assert.ok(typeof Session === "function", "session.ts exports no class");
		const onUntrusted = (reason: string) => bench.calls.push(`untrusted ${reason}`);
		return { bench, session: Reflect.construct(Session, [{ onUntrusted }]) };
	}

	/** Messages of a server until it waits for the client's key, one record each. */
	function hearServer(bench: Bench, made: object): void {
		const signed = [3, 0, 23, 1, 4, 4, 1, 0, 1, 9];
		for (const [type, ...body] of [[2], [11], [12, ...signed], [14]]) {
			const record = [22, 3, 3, 0, body.length + 4, type ?? 0, 0, 0, body.length, ...body];
			bench.answers.set("sdk/ssl/session readPacket", Uint8Array.from(record).buffer);
			call(made, "readPacket", {});
		}
	}

	test("throws to the socket's guard during the handshake, and stays rejected", async () => {
		const { bench, session: made } = await session();
		bench.answers.set("sdk/ssl/session read", new Error("certificate: auth err"));
		assert.throws(() => call(made, "read", {}), /auth err/);
		assert.deepEqual(bench.calls, ["untrusted certificate: auth err"]);
		bench.answers.set("sdk/ssl/session handshake", true);
		assert.throws(() => call(made, "handshake", {}), /already rejected/);
	});

	test("ends at a record that does not decrypt", async () => {
		const { bench, session: made } = await session();
		hearServer(bench, made);
		Object.assign(made, { clientCipher: {}, serverCipher: {} });
		bench.answers.set("sdk/ssl/session handshake", true);
		assert.equal(call(made, "handshake", {}), true);
		bench.answers.set("sdk/ssl/session read", new Error("bad record mac"));
		assert.equal(call(made, "read", {}), null);
		assert.match(bench.traced.join(""), /bad record mac/);
		const data = new Uint8Array(3);
		bench.answers.set("sdk/ssl/session read", data);
		assert.equal(call(made, "read", {}), data);
	});

	for (const [what, state] of [
		["an alert", { alert: { level: 1, description: 0 }, clientCipher: {}, serverCipher: {} }],
		["only the server encrypting", { serverCipher: {} }],
		["only the client encrypting", { clientCipher: {} }],
	] as const)
		test(`is not established after ending with ${what}, although the SDK says so`, async () => {
			const { bench, session: made } = await session();
			hearServer(bench, made);
			Object.assign(made, state);
			bench.answers.set("sdk/ssl/session handshake", true);
			assert.throws(() => call(made, "handshake", {}), /^Error: TLS: (alert|the handshake ended)/);
		});

	test("is not established if it ends before the server has authenticated itself", async () => {
		const { bench, session: made } = await session();
		Object.assign(made, { clientCipher: {}, serverCipher: {} });
		bench.answers.set("sdk/ssl/session handshake", true);
		assert.throws(() => call(made, "handshake", {}), /ended without keys/);
	});

	test("does not check encrypted records", async () => {
		const { bench, session: made } = await session();
		hearServer(bench, made);
		Object.assign(made, { clientCipher: {}, serverCipher: {} });
		const record = Uint8Array.of(23, 3, 3, 0, 1, 7).buffer;
		bench.answers.set("sdk/ssl/session readPacket", record);
		assert.equal(call(made, "readPacket", {}), record);
	});
});
