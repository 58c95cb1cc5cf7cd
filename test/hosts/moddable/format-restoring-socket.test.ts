import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
	FormatRestoringSocket,
	type Socket,
	type SocketOptions,
} from "../../../hosts/moddable/format-restoring-socket.js";
import { ResponseHead } from "../../../hosts/moddable/response-head.js";

const date = "Fri, 27 Nov 2026 12:00:00 GMT";
const accepted = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nDate: ${date}\r\n\r\n`;
const rejected = "HTTP/1.1 401 Unauthorized\r\nretry-after: 5\r\nContent-Type: text/plain\r\n\r\nno";

/** Simulated SDK socket, read one byte at a time or as a buffer. */
class FakeSocket implements Socket {
	format: Socket["format"] = "buffer";
	readonly incoming: number[] = [];
	isClosed = false;
	readonly options: SocketOptions;

	constructor(options: SocketOptions) {
		this.options = options;
	}

	read(count?: number): unknown {
		if (this.format === "number") return this.incoming.shift();
		return Uint8Array.from(this.incoming.splice(0, count)).buffer;
	}

	write(): unknown {
		return 1000;
	}

	close(): void {
		this.isClosed = true;
	}

	/** Receives bytes. */
	receive(text: string): void {
		const bytes = Buffer.from(text, "latin1");
		this.incoming.push(...bytes);
		this.options.onReadable(bytes.length);
	}
}

/**
 * Places a FormatRestoringSocket between a socket and a client that reads everything it is offered, byte by byte as
 * the SDK's does.
 */
function connect() {
	const events: unknown[] = [];
	let text = "";
	let below: FakeSocket | undefined;
	const socket = new FormatRestoringSocket({
		address: "10.0.0.2",
		host: "gateway",
		port: 80,
		below: (options: SocketOptions) => {
			below = new FakeSocket(options);
			return below;
		},
		onReadable(byteCount: number) {
			for (let left = byteCount; left > 0; left--) {
				const byte = socket.read();
				assert.ok(typeof byte === "number", `${left} of ${byteCount} bytes are missing`);
				text += String.fromCharCode(byte);
			}
		},
		onWritable: () => {},
		onDate: (date: string) => events.push(["date", date]),
		onRejected: (status: number, seconds?: number) => events.push(["rejected", status, seconds]),
		onError: () => {
			events.push("error");
			socket.close();
		},
	});
	// The SDK's client does so after its request.
	socket.format = "number";
	assert.ok(below, "no socket was made");
	return { socket, below, events, text: () => text };
}

/** Receives a text in chunks of `length`. */
function inChunks(socket: FakeSocket, text: string, length: number): void {
	for (let at = 0; at < text.length && !socket.isClosed; at += length)
		socket.receive(text.slice(at, at + length));
}

describe("socket below a WebSocket", () => {
	test("reads the rest of a frame header byte by byte after a write, which the client makes in another format", () => {
		const { socket, below } = connect();
		below.receive(accepted);
		socket.format = "buffer";
		socket.write(Uint8Array.of(0x8a, 0));
		assert.equal(socket.format, "number");
	});

	for (const length of [1, 2, 7, 1000]) {
		test(`forwards every byte of an accepted upgrade and of the bytes after it, with its date, in chunks of ${length}`, () => {
			const { below, events, text } = connect();
			const frames = `\x81\x28\r\nDate: Sat, 28 Nov 2026 12:00:00 GMT\r\n\r\n`;
			inChunks(below, `${accepted}${frames}`, length);
			assert.equal(text(), `${accepted}${frames}`);
			assert.deepEqual(events, [["date", date]]);
		});

		test(`reports a rejection once and then an error, and forwards nothing, in chunks of ${length}`, () => {
			const { below, events, text } = connect();
			inChunks(below, rejected, length);
			assert.deepEqual(events, [["rejected", 401, 5], "error"]);
			assert.equal(text(), "");
		});
	}

	test("forwards other data than HTTP to the client, which rejects it", () => {
		for (const nonsense of ["hello\r\n", "\0\0\0\n", `${"x".repeat(2000)}`]) {
			const { below, events, text } = connect();
			inChunks(below, nonsense, 10);
			assert.equal(text(), nonsense);
			assert.deepEqual(events, []);
		}
	});

	test("reports a rejection whose connection ends within its head", () => {
		const { below, events } = connect();
		below.receive("HTTP/1.1 503 Service Unavailable\r\nRetry-Af");
		assert.deepEqual(events, []);
		below.options.onError();
		assert.deepEqual(events, [["rejected", 503, undefined], "error"]);
	});

	test("stops reading a rejection whose head never ends", () => {
		const { below, events } = connect();
		below.receive("HTTP/1.1 401 Unauthorized\r\n");
		let sentBytes = 0;
		for (; events.length === 0 && sentBytes < 1_000_000; sentBytes += 100) below.receive("x".repeat(100));
		assert.deepEqual(events, [["rejected", 401, undefined], "error"]);
		assert.ok(sentBytes <= 16 * 1024, `${sentBytes} bytes`);
	});
});

describe("head of a response", () => {
	function read(text: string): ResponseHead {
		const head = new ResponseHead();
		for (const byte of Buffer.from(text)) head.read(byte);
		return head;
	}

	test("has its status after its first line, with or without a reason and CR", () => {
		assert.equal(read("HTTP/1.1 401 Unauthorized").status, undefined);
		for (const line of ["HTTP/1.1 401 Unauthorized\r\n", "HTTP/1.0 401\r\n", "HTTP/1.1 401 \n"])
			assert.equal(read(line).status, 401, line);
		for (const line of [
			"HTTP/2 401\r\n",
			"HTTP/1.1 4010\r\n",
			"HTTP/1.1 001 x\r\n",
			"\r\n",
			`${"H".repeat(200)}`,
		])
			assert.equal(read(line).status, 0, line);
	});

	test("ends at its empty line, not before", () => {
		assert.equal(read("HTTP/1.1 503 x\r\na: b\r\n").isOver, false);
		assert.equal(read("HTTP/1.1 503 x\r\na: b\r\n\r\n").isOver, true);
	});

	test("has Retry-After in seconds, in any case, and nothing else", () => {
		const after = (field: string) => read(`HTTP/1.1 503 x\r\n${field}\r\n\r\n`).retryAfterSeconds;
		assert.equal(after("Retry-After: 120"), 120);
		assert.equal(after("retry-after:0 "), 0);
		for (const field of [
			"Retry-After: Wed, 21 Oct 2026 07:28:00 GMT",
			"Retry-After: -1",
			"Retry-After: 1e3",
			"X-Retry-After: 5",
			`Retry-After: ${"9".repeat(10)}`,
			`Retry-After:${" ".repeat(300)}5`,
		])
			assert.equal(after(field), undefined, field);
		assert.equal(read(`HTTP/1.1 503 x\r\n${"y".repeat(500)}\r\nRetry-After: 5\r\n`).retryAfterSeconds, 5);
	});
});
