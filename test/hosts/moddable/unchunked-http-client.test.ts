import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isRecord } from "../../../device/protocol/schema.js";
import { Bench, load } from "../esp32/board-bench.js";

const http = "embedded:network/http/client";
interface Socket {
	format: "number" | "buffer";
	read(count?: number): unknown;
	write(bytes: Uint8Array): unknown;
}
interface SocketOptions {
	readonly onReadable: (byteCount: number) => void;
}
const isClass = (value: unknown): value is new (options: object) => Socket => typeof value === "function";

const bench = new Bench();
const { UnchunkedHttpClient } = await load("moddable/unchunked-http-client.ts", bench);

/** Socket that records each write and accepts `writable` bytes at a time; it is read like the SDK's. */
class Below implements Socket {
	format: Socket["format"] = "buffer";
	readonly writes: string[] = [];
	readonly incoming: number[] = [];
	readonly options: SocketOptions;
	readonly writable: number;

	constructor(options: SocketOptions, writable: number) {
		this.options = options;
		this.writable = writable;
	}

	read(count?: number): unknown {
		if (this.format === "number") return this.incoming.shift();
		return Uint8Array.from(this.incoming.splice(0, count)).buffer;
	}

	write(bytes: Uint8Array): number {
		this.writes.push(Buffer.from(bytes).toString());
		return this.writable;
	}

	receive(text: string): void {
		this.incoming.push(...Buffer.from(text, "latin1"));
		this.options.onReadable(this.incoming.length);
	}
}

/** Socket of the SDK's client and the one below it. */
function open(writable: number, onReadable: (byteCount: number) => void = () => {}) {
	let below: Below | undefined;
	assert.ok(isClass(UnchunkedHttpClient), "UnchunkedHttpClient is no class");
	new UnchunkedHttpClient({
		host: "gateway",
		port: 80,
		below: (options: SocketOptions) => {
			below = new Below(options, writable);
			return below;
		},
	});
	const { socket: options } = bench.optionsOf(http);
	assert.ok(isRecord(options) && isClass(options.io), "the client has no socket class");
	const socket = new options.io({ ...options, onReadable });
	assert.ok(below, "no socket was made");
	return { socket, below, writes: below.writes };
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

describe("head of an HTTP request", () => {
	test("is one write for each request of a connection", () => {
		const { socket, writes } = open(5000);
		for (let count = 1; count <= 3; count++) {
			assert.equal(request(socket, lines, 5000), 5000);
			assert.deepEqual(writes, Array(count).fill(lines.join("")));
		}
	});

	test("is sent whole and in order, whatever its length and wherever the client splits a line", () => {
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
});

describe("HTTP response", () => {
	const early = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n";
	const final = "HTTP/1.1 206 Partial Content\r\nContent-Length: 7\r\n\r\n";

	/**
	 * Receives a response in chunks of `length`. @returns data for the client: the head byte by byte, the body as a
	 * buffer
	 */
	function respond(response: string, length: number): string {
		let text = "";
		const { socket, below } = open(5000, (byteCount) => {
			let left = byteCount;
			socket.format = "number";
			for (; left > 0 && !text.includes("\r\n\r\n"); left--) {
				const byte = socket.read();
				assert.ok(typeof byte === "number", `${left} of ${byteCount} bytes are missing`);
				text += String.fromCharCode(byte);
			}
			socket.format = "buffer";
			if (left === 0) return;
			const body = socket.read(left);
			assert.ok(
				body instanceof ArrayBuffer && body.byteLength === left,
				`read ${body} instead of ${left} bytes`,
			);
			text += Buffer.from(body).toString("latin1");
		});
		request(socket, lines, 5000);
		for (let at = 0; at < response.length; at += length) below.receive(response.slice(at, at + length));
		return text;
	}

	for (const length of [1, 9, 1000])
		test(`is the one after 102 and 103, in chunks of ${length}`, () => {
			const body = "\r\nHTTP/";
			for (const informational of ["", early, "HTTP/1.1 102 Processing\r\n\r\n", early + early])
				assert.equal(respond(informational + final + body, length), final + body);
		});

	test("with a chunked body is rejected, which the SDK would read in an unguarded timer", () => {
		let requested: { onHeaders(status: number, headers: ReadonlyMap<string, string>): void } | undefined;
		bench.answers.set(`${http} request`, (options: typeof requested) => {
			requested = options;
		});
		assert.ok(isClass(UnchunkedHttpClient), "UnchunkedHttpClient is no class");
		const client: object = new UnchunkedHttpClient({ host: "gateway", port: 80, below: () => {} });
		Reflect.apply(Reflect.get(client, "request"), client, [{ onHeaders: () => {} }]);
		requested?.onHeaders(200, new Map([["content-length", "7"]]));
		assert.throws(() => requested?.onHeaders(200, new Map([["transfer-encoding", "chunked"]])), /chunked/);
	});

	test("other than HTTP is left to the client, which rejects it", () => {
		for (const nonsense of ["\r\n", "HTTP/1.1\n", "HTTP/2 103\r\n", "hello\r\n"])
			assert.equal(respond(nonsense, 4), nonsense);
	});
});
