/** Gateway connection in Node, over a socket whose peer is the test. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Socket, SocketOptions } from "../../../device/host.js";
import type { ConnectionEnd } from "../../../device/network/connection-end.js";
import "../array-buffer.js";
import { clock } from "../update/timer.js";
import { messagesIn } from "./client-frames.js";

/** Type of device/network/gateway-socket.ts without its XS types. */
interface Connection {
	readonly isDrained: boolean;
	send(text: string): void;
	close(): void;
}
const isClass = (value: unknown): value is new (options: object) => Connection => typeof value === "function";
const file: string = "../../../device/network/gateway-socket.js";
const { GatewaySocket }: { GatewaySocket?: unknown } = await import(file);

/** First byte of a close frame. */
const closeFrame = 0x88;
/** Bytes that the socket accepts at a time. */
const windowBytes = 40;

class Peer {
	written = Buffer.alloc(0);
	/** Bytes that the socket accepts next. */
	room = windowBytes;
	isClosed = false;
	readonly ends: ConnectionEnd[] = [];
	readonly connection: Connection;
	#received = Buffer.alloc(0);
	#socket: SocketOptions | undefined;

	constructor(onDrained = () => {}) {
		const peer = this;
		class Client implements Socket {
			constructor(options: SocketOptions) {
				peer.#socket = options;
			}
			read(buffer: Uint8Array): void {
				buffer.set(peer.#received.subarray(0, buffer.length));
				peer.#received = peer.#received.subarray(buffer.length);
			}
			write(bytes: Uint8Array): number {
				assert.ok(bytes.length <= peer.room, `${bytes.length} bytes`);
				peer.written = Buffer.concat([peer.written, bytes]);
				if (peer.room < windowBytes) peer.room -= bytes.length;
				return peer.room;
			}
			close(): void {
				peer.isClosed = true;
			}
		}
		assert.ok(isClass(GatewaySocket), "GatewaySocket is no class");
		this.connection = new GatewaySocket({
			part: Client,
			certificate: undefined,
			resolve: (_host: string, onResolved: (address: string) => void) => onResolved("10.0.0.1"),
			url: { isSecure: false, host: "gateway", port: 80, path: "/gerät" },
			headers: [],
			onOpen: () => {},
			onMessage: () => {},
			onDrained,
			onClosed: (end: ConnectionEnd) => this.ends.push(end),
		});
		this.setRoom(windowBytes);
	}

	setRoom(byteCount: number): void {
		this.room = byteCount;
		this.#socket?.onWritable(byteCount);
	}

	breakOff(): void {
		this.#socket?.onError();
		clock.pass(0);
	}

	send(bytes: Uint8Array | string): void {
		this.#received = Buffer.concat([this.#received, Buffer.from(bytes)]);
		this.#socket?.onReadable(this.#received.length);
	}
}

/** Peer that has accepted the connection. @param frame sent together with the response */
function accept(onDrained?: () => void, frame: Uint8Array = Buffer.alloc(0)): Peer {
	const peer = new Peer(onDrained);
	peer.written = Buffer.alloc(0);
	const head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
	peer.send(Buffer.concat([Buffer.from(head), frame]));
	return peer;
}

test("requests the upgrade in UTF-8", () => {
	const { pending } = clock;
	const { written, connection } = new Peer();
	assert.match(
		written.toString(),
		/^GET \/gerät HTTP\/1\.1\r\nhost: gateway:80\r\nupgrade: websocket\r\n.*\r\n\r\n$/s,
	);
	connection.close();
	assert.equal(clock.pending, pending);
});

test("sends queued messages in order, in pieces of the send window, and notifies of the empty queue in a new turn", () => {
	let isInCall = false;
	let count = 0;
	const peer = accept(() => {
		assert.ok(!isInCall, "onDrained was called within send()");
		if (count === 4) return;
		send(`${++count}${"x".repeat(300)}`);
		send(`${++count}`);
	});
	const send = (text: string) => {
		isInCall = true;
		peer.connection.send(text);
		isInCall = false;
	};
	send("first");
	const messages = ["first", `1${"x".repeat(300)}`, "2", `3${"x".repeat(300)}`, "4"];
	clock.runUntil(() => messagesIn(peer.written).length === messages.length, 0);
	assert.deepEqual(messagesIn(peer.written).map(String), messages);
	assert.ok(peer.connection.isDrained, "the socket still holds data");
	peer.connection.close();
	assert.deepEqual(messagesIn(peer.written, closeFrame), [Buffer.from([0x03, 0xe8])]);
});

test("answers pings, of which the queue holds one, and drops messages beyond 16 KiB", () => {
	const ping = Buffer.from([0x89, 125, ...Buffer.alloc(125, "p")]);
	const peer = accept(() => assert.ok(peer.connection.isDrained, "the queue is not empty"), ping);
	assert.deepEqual(messagesIn(peer.written, 0x8a), [ping.subarray(2)]);
	peer.setRoom(0);
	for (let count = 0; count < 100; count++) peer.send(ping);
	for (let count = 0; count < 10; count++) peer.connection.send(`${count}${"x".repeat(3000)}`);
	clock.pass(0);
	peer.setRoom(windowBytes);
	assert.equal(messagesIn(peer.written, 0x8a).length, 2);
	assert.deepEqual(
		messagesIn(peer.written).map((text) => String(text)[0]),
		["0", "1", "2", "3", "4"],
	);
	peer.connection.close();
});

test("echoes a close frame, and then closes the connection and all timers", () => {
	const { pending } = clock;
	const peer = accept();
	peer.send(Buffer.from([0x88, 4, 0x0f, 0xa2, ...Buffer.from("no")]));
	assert.deepEqual(messagesIn(peer.written, closeFrame), [Buffer.from([0x0f, 0xa2])]);
	assert.ok(peer.isClosed, "the socket is open");
	assert.equal(clock.pending, pending);
	assert.deepEqual(
		peer.ends.map(({ kind }) => kind),
		["rejected"],
	);
});

test("tells a rejected upgrade, even by an incomplete response, from a server that is no gateway", () => {
	for (const [response, kind, reason] of [
		["HTTP/1.1 401 Unauthorized\r\ndate:", "rejected", /rejected the token/],
		["HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", "failed", /is no gateway/],
		["HTTP/1.1 101 Switching", "failed", /no connection to gateway:80/],
	] as const) {
		const peer = new Peer();
		peer.send(response);
		peer.breakOff();
		assert.deepEqual(
			peer.ends.map((end) => end.kind),
			[kind],
		);
		assert.match(peer.ends[0]?.reason ?? "", reason);
	}
});

test("turns an exception of the socket into the end of the connection, in a new turn", () => {
	const peer = accept();
	// The socket throws.
	peer.room = 0;
	peer.connection.send("message");
	assert.equal(peer.ends.length, 0);
	clock.pass(0);
	assert.match(peer.ends[0]?.reason ?? "", /the connection failed: AssertionError/);
});
