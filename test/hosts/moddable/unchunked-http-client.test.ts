import assert from "node:assert/strict";
import { test } from "node:test";
import { loadClass } from "../load.js";

interface Socket {
	write(bytes: Uint8Array): unknown;
}

/** Base class of the SDK, which records its options and the latest request. */
class HttpClient {
	static socket: { io: new (options: object) => Socket };
	static onHeaders: (status: number, headers: ReadonlyMap<string, string>) => void;
	constructor({ socket }: { socket: typeof HttpClient.socket }) {
		HttpClient.socket = socket;
	}
	request({ onHeaders }: { onHeaders: typeof HttpClient.onHeaders }) {
		HttpClient.onHeaders = onHeaders;
	}
}
const UnchunkedHttpClient = await loadClass("UnchunkedHttpClient", "moddable/unchunked-http-client.ts", {
	"embedded:network/http/client": HttpClient,
});

/** @returns the socket of the SDK's client over one that accepts `writable` bytes at a time, and what is written to that */
function open(writable: number) {
	const writes: string[] = [];
	const below = () => ({
		write: (bytes: Uint8Array) => {
			writes.push(Buffer.from(bytes).toString());
			return writable;
		},
	});
	new UnchunkedHttpClient({ below });
	const { io: Socket, ...options } = HttpClient.socket;
	return { socket: new Socket(options), writes };
}

/**
 * Writes the lines of a request as the SDK's client does: separately, split where the socket accepts no more.
 * @returns the writable byte count
 */
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

test("the head of a request is one write for each request of a connection", () => {
	const { socket, writes } = open(5000);
	for (let count = 1; count <= 3; count++) {
		assert.equal(request(socket, lines, 5000), 5000);
		assert.deepEqual(writes, Array(count).fill(lines.join("")));
	}
});

test("the head of a request is sent whole and in order, whatever its length and wherever the client splits a line", () => {
	for (let length = 1; length < 2100; length += length > 900 && length < 1100 ? 1 : 37)
		for (const writable of [3, 31, 1536]) {
			const { socket, writes } = open(writable);
			const long = [`GET /${"x".repeat(length)} HTTP/1.1\r\n`, ...lines.slice(1)];
			request(socket, long, writable);
			request(socket, lines, writable);
			assert.equal(writes.join(""), [...long, ...lines].join(""), `${length}, ${writable}`);
			assert.deepEqual(
				writes.map((text) => text.length).filter((length) => length > Math.max(1024, writable)),
				[],
			);
		}
});

test("a chunked body is rejected, which the SDK would read in an unguarded timer", () => {
	new UnchunkedHttpClient({}).request?.({ onHeaders: () => {} });
	HttpClient.onHeaders(200, new Map([["content-length", "7"]]));
	assert.throws(() => HttpClient.onHeaders(200, new Map([["transfer-encoding", "chunked"]])), /chunked/);
});
