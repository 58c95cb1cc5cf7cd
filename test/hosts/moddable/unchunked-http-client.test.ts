import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isRecord } from "../../../device/protocol/schema.js";
import { Bench, load } from "../esp32/board-bench.js";

const http = "embedded:network/http/client";
type Socket = { write(bytes: Uint8Array): unknown };
const isClass = (value: unknown): value is new (options: object) => Socket => typeof value === "function";

const bench = new Bench();
const { UnchunkedHttpClient } = await load("moddable/unchunked-http-client.ts", bench);

/** A socket as the SDK's client has it, over one that records each write and takes `writable` bytes next. */
function open(writable: number) {
	const writes: string[] = [];
	class Below {
		write(bytes: Uint8Array): number {
			writes.push(Buffer.from(bytes).toString());
			return writable;
		}
	}
	assert.ok(isClass(UnchunkedHttpClient));
	new UnchunkedHttpClient({ host: "gateway", port: 80, socket: { io: Below } });
	const { socket } = bench.optionsOf(http);
	assert.ok(isRecord(socket) && isClass(socket.io));
	return { socket: new socket.io({}), writes };
}

/** Writes a request's lines as the SDK's client does: each by itself, cut where the socket takes no more. @returns what it may write next */
function request(socket: Socket, lines: readonly string[], writable: number): number {
	let room = writable;
	for (const line of lines) {
		const bytes = Buffer.from(line);
		for (let at = 0; at < bytes.length; ) {
			if (room === 0) room = writable;
			const piece = bytes.subarray(at, at + room);
			at += piece.length;
			room = Number(socket.write(piece));
		}
	}
	return room;
}

const lines = ["GET /firmware.bin HTTP/1.1\r\nhost: gateway\r\n", "range: bytes=0-16383\r\n", "\r\n"];

describe("the head of an HTTP request", () => {
	test("is one write, of each request of a connection", () => {
		const { socket, writes } = open(5000);
		for (let count = 1; count <= 3; count++) {
			assert.equal(request(socket, lines, 5000), 5000);
			assert.deepEqual(writes, Array(count).fill(lines.join("")));
		}
	});

	test("goes out whole and in order, whatever its length and wherever the client cuts a line", () => {
		for (let length = 1; length < 2100; length += length > 900 && length < 1100 ? 1 : 37)
			for (const writable of [3, 31, 1536]) {
				const { socket, writes } = open(writable);
				const long = [`GET /${"x".repeat(length)} HTTP/1.1\r\n`, ...lines.slice(1)];
				request(socket, long, writable);
				request(socket, lines, writable);
				assert.equal(writes.join(""), [...long, ...lines].join(""), `${length}, ${writable}`);
				assert.ok(writes.every((text) => text.length <= Math.max(1024, writable)));
			}
	});
});
