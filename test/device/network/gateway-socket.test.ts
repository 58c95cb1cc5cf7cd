/** Gateway connection in Node, over a socket whose peer is the test. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Socket, SocketOptions } from "../../../device/host.js";
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

const accepted = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
/** Bytes that the socket accepts at a time. */
const windowBytes = 40;

test("sends queued messages in order, in pieces of the send window, and notifies of the empty queue in a new turn", () => {
	let written = Buffer.alloc(0);
	let received = Buffer.alloc(0);
	let isInCall = false;
	let count = 0;
	let socket: SocketOptions | undefined;
	class Client implements Socket {
		constructor(options: SocketOptions) {
			socket = options;
		}
		read(buffer: Uint8Array): void {
			buffer.set(received.subarray(0, buffer.length));
			received = received.subarray(buffer.length);
		}
		write(bytes: Uint8Array): number {
			assert.ok(bytes.length <= windowBytes, `${bytes.length} bytes`);
			written = Buffer.concat([written, bytes]);
			return windowBytes;
		}
		close(): void {}
	}
	assert.ok(isClass(GatewaySocket), "GatewaySocket is no class");
	const connection = new GatewaySocket({
		part: Client,
		certificate: undefined,
		resolve: (_host: string, onResolved: (address: string) => void) => onResolved("10.0.0.1"),
		url: { isSecure: false, host: "gateway", port: 80, path: "/gerät" },
		headers: [],
		onOpen: () => {},
		onMessage: () => {},
		onDrained: () => {
			assert.ok(!isInCall, "onDrained was called within send()");
			if (count === 4) return;
			send(`${++count}${"x".repeat(300)}`);
			send(`${++count}`);
		},
		onClosed: () => assert.fail("closed"),
	});
	const send = (text: string) => {
		isInCall = true;
		connection.send(text);
		isInCall = false;
	};
	socket?.onWritable(windowBytes);
	assert.match(
		written.toString(),
		/^GET \/gerät HTTP\/1\.1\r\nhost: gateway:80\r\nupgrade: websocket\r\n.*\r\n\r\n$/s,
	);
	written = Buffer.alloc(0);
	received = Buffer.from(accepted);
	socket?.onReadable(received.length);
	send("first");
	const messages = ["first", `1${"x".repeat(300)}`, "2", `3${"x".repeat(300)}`, "4"];
	clock.runUntil(() => messagesIn(written).length === messages.length, 0);
	assert.deepEqual(messagesIn(written).map(String), messages);
	assert.ok(connection.isDrained, "the socket still holds data");
	connection.close();
});
