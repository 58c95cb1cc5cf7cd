/**
 * HTTP/1.1 firmware server in memory, with faults chosen by a test: at any byte it sends, the connection may break,
 * stall, lose, double or flip a byte, and any response may be replaced.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { Socket, SocketOptions } from "../../../device/host.js";
import type { HttpAccess } from "../../../device/network/http-connection.js";
import "../array-buffer.js";
import Timer from "./timer.js";

const maxWriteBytes = 4096;

/** Single fault at the byte with that number, counted from 0 over all connections. */
export interface Fault {
	readonly at: number;
	readonly kind: "cut" | "stall" | "lose" | "double" | "flip";
}

/** Bytes on the wire. Without `ending` the connection stays open for the next request. */
export interface RawAnswer {
	readonly head: string;
	readonly body?: Uint8Array;
	readonly ending?: "cut" | "stall";
}

export interface ServerOptions {
	readonly file: Buffer;
	/** Patch, served at URLs ending with .patch. */
	readonly patch?: Buffer;
	/** false: each response is the whole file. */
	readonly hasRanges?: boolean;
	readonly hasDigests?: boolean;
	readonly hasETags?: boolean;
	/** Weak ETags, which never match an If-Range (RFC 9110, 13.1.5). */
	readonly isWeak?: boolean;
	readonly faults?: readonly Fault[];
	/** Responds before anything else happens after the turn of the request. */
	readonly isInstant?: boolean;
	/** Delay of the first byte of each response in ms. Default: 1. */
	readonly delayMs?: number;
	/** Time per segment in ms. Default: 1. */
	readonly segmentMs?: number;
	/** Bytes per segment. Default: 1,440. */
	readonly segmentBytes?: number;
	/** Number of the request, counted from 0, after whose response the connection is closed. */
	readonly endAfter?: number;
	/** Replaces a response; `index` counts requests. */
	readonly answer?: (request: AskedFor, index: number) => RawAnswer | undefined;
}

export interface AskedFor {
	readonly path: string;
	readonly headers: ReadonlyMap<string, string>;
}

export class MemoryServer {
	file: Buffer;
	/** Whether connections fail. */
	isDown = false;
	/** Called before a client reads. */
	onRead = (_byteCount: number) => {};
	connections = 0;
	readonly requests: AskedFor[] = [];
	/** Bytes of firmware sent. */
	bodyBytes = 0;
	/** Total bytes sent. */
	sentBytes = 0;
	/** Ranges of the response heads in the bytes sent: first byte, and the one after the last. */
	readonly heads: (readonly [number, number])[] = [];
	readonly #options: ServerOptions;
	readonly #open = new Set<MemorySocket>();
	#faults: Fault[];

	constructor(options: ServerOptions) {
		this.#options = options;
		this.file = options.file;
		this.#faults = [...(options.faults ?? [])].sort((a, b) => a.at - b.at);
	}

	get isInstant(): boolean {
		return this.#options.isInstant ?? false;
	}

	get delayMs(): number {
		return this.#options.delayMs ?? this.segmentMs;
	}

	get segmentMs(): number {
		return this.#options.segmentMs ?? 1;
	}

	get segmentBytes(): number {
		return this.#options.segmentBytes ?? 1440;
	}

	/** Faults that have not happened yet. */
	get faultsLeft(): number {
		return this.#faults.length;
	}

	/** Open connections. */
	get open(): number {
		return this.#open.size;
	}

	/** Destroys all connections. */
	cut(): void {
		for (const socket of this.#open) socket.cut();
	}

	note(socket: MemorySocket, isOpen: boolean): void {
		if (isOpen) this.#open.add(socket);
		else this.#open.delete(socket);
	}

	/** Network of a device that reaches only this server. @param lookUpMs durations of successive lookups; further ones take no time */
	access(lookUpMs: number[] = []): HttpAccess {
		const server = this;
		const http = class extends MemorySocket {
			constructor(options: SocketOptions) {
				super(options, server);
			}
		};
		const resolve: HttpAccess["network"]["resolve"] = (host, onResolved) => {
			assert.doesNotMatch(host, /:/, "without the port of the Host header");
			Timer.set(() => onResolved("10.0.0.1"), lookUpMs.shift() ?? 0);
		};
		return { network: { http, https: http, resolve }, certificate: undefined, headersFor: () => [] };
	}

	/** @returns the bytes sent and how the connection ends */
	answer(text: string): { readonly bytes: Buffer; readonly ending: RawAnswer["ending"] } {
		const request = parseRequest(text);
		const index = this.requests.length;
		this.requests.push(request);
		const raw = this.#options.answer?.(request, index) ?? this.#right(request);
		this.heads.push([this.sentBytes, this.sentBytes + raw.head.length]);
		this.bodyBytes += raw.body?.length ?? 0;
		return {
			bytes: Buffer.concat([Buffer.from(raw.head, "latin1"), raw.body ?? Buffer.alloc(0)]),
			ending: index === this.#options.endAfter ? "cut" : raw.ending,
		};
	}

	/** Regular response of the gateway. */
	#right(request: AskedFor): RawAnswer {
		const { hasRanges = true, hasDigests = true, hasETags = true, isWeak = false } = this.#options;
		const file = this.#fileAt(request.path);
		if (!file) return { head: head(404, { "Content-Length": "0" }) };
		const etag = `${isWeak ? "W/" : ""}"${sha256(file).toString("hex")}"`;
		const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("range") ?? "");
		const ifRange = request.headers.get("if-range");
		const isPart = hasRanges && range && (ifRange === undefined || (ifRange === etag && !isWeak));
		if (isPart && Number(range[1]) >= file.length)
			return { head: head(416, { "Content-Length": "0", "Content-Range": `bytes */${file.length}` }) };
		const first = isPart ? Number(range[1]) : 0;
		const body = isPart ? file.subarray(first, range[2] ? Number(range[2]) + 1 : undefined) : file;
		const fields = {
			"Content-Type": "application/octet-stream",
			"Content-Length": String(body.length),
			...(hasETags && { ETag: etag }),
			...(isPart && { "Content-Range": `bytes ${first}-${first + body.length - 1}/${file.length}` }),
			...(hasDigests && { "Content-Digest": `sha-256=:${sha256(body).toString("base64")}:` }),
		};
		return { head: head(isPart ? 206 : 200, fields), body };
	}

	#fileAt(path: string): Buffer | undefined {
		return path.endsWith(".patch") ? this.#options.patch : this.file;
	}

	/** Next fault within `byteCount` bytes. */
	takeFault(byteCount: number): Fault | undefined {
		const [next] = this.#faults;
		if (!next || next.at >= this.sentBytes + byteCount) return undefined;
		this.#faults = this.#faults.slice(1);
		return next;
	}
}

export function head(status: number, fields: Readonly<Record<string, string>>): string {
	const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
	return `HTTP/1.1 ${status} Whatever\r\n${lines.join("")}\r\n`;
}

class MemorySocket implements Socket {
	readonly #options: SocketOptions;
	readonly #server: MemoryServer;
	#received = Buffer.alloc(0);
	#request = "";
	#isOver = false;
	#isStalled = false;
	/** Sends the server's bytes in order, one segment per turn. */
	#outgoing: (() => void)[] = [];
	#timer: Timer | undefined;

	constructor(options: SocketOptions, server: MemoryServer) {
		this.#options = options;
		this.#server = server;
		Timer.set(() => {
			if (server.isDown) return this.#fail();
			if (this.#isOver) return;
			server.connections += 1;
			server.note(this, true);
			options.onWritable(maxWriteBytes);
		});
	}

	read(buffer: Uint8Array): void {
		if (buffer.length > this.#received.length) throw new Error("nothing to read");
		this.#server.onRead(buffer.length);
		buffer.set(this.#received.subarray(0, buffer.length));
		this.#received = this.#received.subarray(buffer.length);
	}

	write(bytes: Uint8Array): number {
		this.#request += Buffer.from(bytes).toString("latin1");
		while (this.#request.includes("\r\n\r\n")) {
			const end = this.#request.indexOf("\r\n\r\n") + 4;
			const { segmentBytes } = this.#server;
			const answer = this.#server.answer(this.#request.slice(0, end));
			this.#request = this.#request.slice(end);
			for (let at = 0; at < answer.bytes.length; at += segmentBytes)
				this.#send(() => this.#deliver(answer.bytes.subarray(at, at + segmentBytes)));
			if (answer.ending) this.#send(() => this.#end(answer.ending ?? "stall"));
		}
		return maxWriteBytes;
	}

	close(): void {
		this.#isOver = true;
		this.#server.note(this, false);
		Timer.clear(this.#timer);
	}

	cut(): void {
		this.#end("cut");
	}

	#send(step: () => void): void {
		if (this.#isStalled) return;
		if (this.#server.isInstant) return void Timer.set(step);
		this.#outgoing.push(step);
		if (this.#outgoing.length === 1) this.#sendNext(this.#server.delayMs);
	}

	#sendNext(delayMs: number): void {
		this.#timer = Timer.set(() => {
			if (this.#isOver) return;
			this.#outgoing[0]?.();
			this.#outgoing.shift();
			if (this.#outgoing.length > 0 && !this.#isOver) this.#sendNext(this.#server.segmentMs);
		}, delayMs);
	}

	#deliver(segment: Buffer): void {
		const fault = this.#server.takeFault(segment.length);
		const at = fault ? fault.at - this.#server.sentBytes : segment.length;
		this.#server.sentBytes += segment.length;
		const before = segment.subarray(0, at);
		const after = segment.subarray(at);
		switch (fault?.kind) {
			case undefined:
				return this.#arrive(segment);
			case "lose":
				return this.#arrive(Buffer.concat([before, after.subarray(1)]));
			case "double":
				return this.#arrive(Buffer.concat([before, after.subarray(0, 1), after]));
			case "flip":
				return this.#arrive(
					Buffer.concat([before, Buffer.from([(after[0] ?? 0) ^ 0x10]), after.subarray(1)]),
				);
			case "cut":
			case "stall":
				this.#arrive(before);
				return this.#end(fault.kind);
		}
	}

	#end(kind: "cut" | "stall"): void {
		this.#outgoing = [];
		if (kind === "cut") this.#fail();
		else this.#isStalled = true;
	}

	#arrive(bytes: Buffer): void {
		if (bytes.length === 0 || this.#isOver) return;
		this.#received = Buffer.concat([this.#received, bytes]);
		this.#options.onReadable(this.#received.length);
	}

	#fail(): void {
		if (this.#isOver) return;
		this.#isOver = true;
		this.#server.note(this, false);
		this.#options.onError();
	}
}

function parseRequest(text: string): AskedFor {
	const [start, ...lines] = text.trimEnd().split("\r\n");
	const fields = lines.map((line): [string, string] => {
		const colon = line.indexOf(":");
		return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
	});
	return { path: start?.split(" ")[1] ?? "", headers: new Map(fields) };
}

function sha256(bytes: Uint8Array): Buffer {
	return createHash("sha256").update(bytes).digest();
}
