/**
 * Limits what a connection costs before its client has shown a token. Node parses all requests of one read, up to
 * 2,500 in 64 KiB, and keeps each response until it is read: a few connections could fill the memory.
 * maxRequestsPerSocket and Connection: close apply after that parse, and a Duplex in between would stay for each
 * WebSocket; so this class calls Node's own listeners with smaller pieces. While 20 connections sent requests without reading, a
 * device's report took 0.4 ms and the gateway 160 MB; with a limit of 8 requests that wait, in place of this, 47 ms and 560 MB.
 */

import { readFileSync } from "node:fs";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../access/origin.js";
import { TokenBucket } from "../access/rates.js";
import { createYield } from "../event-loop.js";

/** A few requests without headers. */
const pieceBytes = 256;
/** Piece size of a client with a token: up to a hundred requests. */
const admittedPieceBytes = 4096;
const bodyPieceBytes = 16 * 1024;
/**
 * Connections without a token that are parsed in one turn of the event loop. Node accepts any number in a turn: with
 * fewer, those of a returning fleet were cut before they were parsed.
 */
const parsedPerTurn = 4;
/** Rate limit of all clients without a token. */
const requestRate = { perSecond: 200, burst: 300 };
const pauseMs = 1000 / requestRate.perSecond;
/** Time to read a response sent before its request ended; random, to spread the clients' return. */
const lingerMs = () => 2000 + Math.random() * 2000;

export interface ConnectionsOptions {
	readonly maxUnauthenticated: number;
	readonly monotonic: () => number;
}

/** A TLS socket has no reference to its connection: addresses identify it. */
interface Endpoint {
	readonly network: string;
	/** Address and port. */
	readonly name: string;
}

function endpointOf({ remoteAddress = "", remotePort = 0 }: Socket): Endpoint {
	return { network: networkOf(remoteAddress), name: `${remoteAddress} ${remotePort}` };
}

export class Connections {
	readonly #maxUnauthenticated: number;
	readonly #readers = new WeakMap<object, RequestReader>();
	/** By network, then by address and port, oldest first. */
	readonly #unauthenticated = new Map<string, Map<string, Socket>>();
	#count = 0;
	/** Shared by all sockets, to save memory. */
	readonly #onClose: (this: Socket) => void;
	/** Node may read from a hundred sockets per turn. */
	readonly #yieldToParse = createYield(setImmediate, parsedPerTurn);
	/** Not that of devices, which need not wait for these. */
	readonly #yieldToLoop: () => Promise<void>;

	constructor({ maxUnauthenticated, monotonic }: ConnectionsOptions) {
		this.#maxUnauthenticated = maxUnauthenticated;
		const bucket = new TokenBucket({ ...requestRate, monotonic });
		const proceed = (begin: () => void): unknown =>
			bucket.take() ? setImmediate(begin) : setTimeout(() => proceed(begin), pauseMs);
		this.#yieldToLoop = createYield(proceed);
		const forget = (socket: Socket) => {
			const endpoint = endpointOf(socket);
			if (this.#unauthenticated.get(endpoint.network)?.get(endpoint.name) === socket) this.#remove(endpoint);
		};
		this.#onClose = function () {
			forget(this);
		};
	}

	/** Call it before the server listens. */
	watch(server: Server, isTls: boolean): void {
		server.on("connection", (socket) => this.#add(socket));
		server.on(isTls ? "secureConnection" : "connection", (socket: Socket) =>
			this.#readers.set(socket, new RequestReader(socket, this.#yieldToParse)),
		);
	}

	/**
	 * For each request. @param isKnown it shows a valid token and need not wait @returns await it before the response
	 */
	take(request: IncomingMessage, response: ServerResponse, isKnown: boolean): Promise<void> | undefined {
		return this.#readers
			.get(request.socket)
			?.take(request, response, isKnown ? undefined : this.#yieldToLoop);
	}

	/** For an upgrade. @returns the bytes after the request */
	release(socket: object, head: Buffer): Buffer {
		const rest = this.#readers.get(socket)?.release() ?? [];
		this.#readers.delete(socket);
		return rest.length > 0 ? Buffer.concat([head, ...rest]) : head;
	}

	/** The client has shown a token: newer connections do not displace this one. */
	admit(socket: Socket): void {
		if (this.#readers.get(socket)?.admit() === false) return;
		this.#remove(endpointOf(socket));
	}

	#add(socket: Socket): void {
		if (socket.remoteAddress === undefined) return void socket.destroy();
		const { network, name } = endpointOf(socket);
		const sockets = this.#unauthenticated.get(network) ?? new Map<string, Socket>();
		if (sockets.get(name) === socket) return;
		this.#unauthenticated.set(network, sockets.set(name, socket));
		this.#count += 1;
		socket.on("close", this.#onClose);
		if (this.#count > this.#maxUnauthenticated) this.#cutOne();
	}

	#remove({ network, name }: Endpoint): void {
		const sockets = this.#unauthenticated.get(network);
		if (!sockets?.delete(name)) return;
		this.#count -= 1;
		if (sockets.size === 0) this.#unauthenticated.delete(network);
	}

	/** Closes the oldest connection of the network with the most. */
	#cutOne(): void {
		let [network, most] = ["", new Map<string, Socket>()];
		for (const [each, sockets] of this.#unauthenticated)
			if (sockets.size > most.size) [network, most] = [each, sockets];
		const [oldest] = most;
		if (!oldest) return;
		const [name, socket] = oldest;
		this.#remove({ network, name });
		socket.destroy();
	}
}

/** Feeds Node's parser in pieces, each when all responses to the previous one are sent. */
class RequestReader {
	#isAdmitted = false;
	readonly #socket: Socket;
	readonly #yieldToParse: () => Promise<void>;
	/** Shared by all responses: a closure for each block of an image would cost time. */
	readonly #onClosed: (this: ServerResponse) => void;
	/** Node's listeners. */
	readonly #parse: readonly unknown[];
	#waiting: Buffer[] = [];
	#unanswered = 0;
	#latestTurn: Promise<void> | undefined;
	#latest: IncomingMessage | undefined;
	#isFeeding = false;
	#isReleased = false;

	/** @param yieldToParse awaited before a read without a token is parsed */
	constructor(socket: Socket, yieldToParse: () => Promise<void>) {
		this.#socket = socket;
		this.#yieldToParse = yieldToParse;
		const answered = (request: IncomingMessage) => this.#answered(request);
		this.#onClosed = function () {
			answered(this.req);
		};
		this.#parse = socket.listeners("data");
		socket.removeAllListeners("data");
		socket.on("data", this.#onData);
		// Node emits it once a full body was read.
		socket.on("resume", this.#onResume);
	}

	/** @returns whether it is the first time */
	admit(): boolean {
		const isFirst = !this.#isAdmitted;
		this.#isAdmitted = true;
		return isFirst;
	}

	/** @param yieldToLoop awaited by one request at a time */
	take(
		request: IncomingMessage,
		response: ServerResponse,
		yieldToLoop: (() => Promise<void>) | undefined,
	): Promise<void> | undefined {
		this.#latest = request;
		this.#unanswered += 1;
		response.on("close", this.#onClosed);
		if (!yieldToLoop) return undefined;
		this.#latestTurn = this.#latestTurn ? this.#latestTurn.then(yieldToLoop) : yieldToLoop();
		return this.#latestTurn;
	}

	#answered(request: IncomingMessage): void {
		this.#unanswered -= 1;
		if (request.complete) this.#feed();
		else this.#linger();
	}

	/** @returns unparsed bytes */
	release(): Buffer[] {
		this.#isReleased = true;
		this.#socket.off("data", this.#onData).off("resume", this.#onResume);
		return this.#waiting.splice(0);
	}

	readonly #onResume = (): void => this.#feed();

	readonly #onData = (bytes: Buffer): void => {
		this.#waiting.push(bytes);
		if (this.#isAdmitted) return this.#feed();
		this.#socket.pause();
		void this.#yieldToParse().then(() => this.#feed());
	};

	#feed(): void {
		// A request may be answered while its piece is parsed.
		if (this.#isFeeding || this.#isReleased) return;
		this.#isFeeding = true;
		while (this.#mayParse()) {
			const piece = this.#nextPiece();
			if (!piece) break;
			for (const parse of this.#parse)
				if (typeof parse === "function") Reflect.apply(parse, this.#socket, [piece]);
		}
		this.#isFeeding = false;
		if (this.#isReleased) return;
		if (this.#waiting.length > 0 || this.#isBodyFull()) this.#socket.pause();
		else if (this.#socket.isPaused()) this.#socket.resume();
	}

	#mayParse(): boolean {
		if (this.#isReleased || this.#socket.destroyed) return false;
		return this.#latest?.complete === false ? !this.#isBodyFull() : this.#unanswered === 0;
	}

	/** Whether Node's buffer for the body is full; Node would pause the socket. */
	#isBodyFull(): boolean {
		const body = this.#latest;
		return body?.complete === false && body.readableLength >= body.readableHighWaterMark;
	}

	#nextPiece(): Buffer | undefined {
		const bytes = this.#waiting.shift();
		if (!bytes) return undefined;
		const isBody = this.#latest?.complete === false;
		if (isBody && this.#isAdmitted) return bytes;
		const length = isBody ? bodyPieceBytes : this.#isAdmitted ? admittedPieceBytes : pieceBytes;
		if (bytes.length <= length) return bytes;
		this.#waiting.unshift(bytes.subarray(length));
		return bytes.subarray(0, length);
	}

	/** Stops reading. Closing while bytes arrive would reset the connection before the response is read. */
	#linger(): void {
		this.release();
		this.#socket.pause();
		setTimeout(() => this.#socket.destroy(), lingerMs()).unref();
	}
}

/** @returns at most half of the files that may be open: the rest is for known clients */
export function maxUnauthenticatedOf(limit: number): number {
	try {
		const [, openFiles] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
		return Math.min(limit, Math.floor(Number(openFiles ?? Number.POSITIVE_INFINITY) / 2));
	} catch {
		// Not Linux.
		return limit;
	}
}
