/**
 * Limits the resources of connections whose client has not authenticated. Node parses all requests of one read, up to
 * 2,500 in 64 KiB, and keeps each response until it is read, so a few connections could exhaust the memory.
 * maxRequestsPerSocket and `Connection: close` take effect only after that parse, and a Duplex in between would remain
 * in each WebSocket. Therefore this class passes data to Node's own listeners in smaller chunks. While 20 connections
 * sent requests without reading, a device's report took 0.4 ms and the gateway 160 MB, instead of 47 ms and 560 MB with
 * a limit of 8 pending requests.
 */

import { readFileSync } from "node:fs";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "../access/origin.js";
import { TokenBucket } from "../access/rates.js";
import { createYield } from "../event-loop.js";

/** Chunk size before authentication; a few requests without headers. */
const chunkBytes = 256;
/** Chunk size after authentication; up to a hundred requests. */
const admittedChunkBytes = 4096;
const bodyChunkBytes = 16 * 1024;
/**
 * Unauthenticated connections parsed per turn of the event loop. Node accepts any number per turn; with fewer,
 * connections of a reconnecting fleet were closed before they were parsed.
 */
const parsedPerTurn = 4;
/** Rate limit of all unauthenticated clients together. */
const requestRate = { perSecond: 200, burst: 300 };
const pauseMs = 1000 / requestRate.perSecond;
/** Time for a client to read a response sent before the end of its request; random, to spread the retries. */
const lingerMs = () => 2000 + Math.random() * 2000;

export interface ConnectionsOptions {
	readonly maxUnauthenticated: number;
	readonly monotonic: () => number;
}

/** Remote end of a connection. A TLS socket has no reference to its TCP socket, so both are matched by address. */
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
	/** Unauthenticated connections by network, then by address and port, oldest first. */
	readonly #unauthenticated = new Map<string, Map<string, Socket>>();
	#count = 0;
	/** Listener shared by all sockets, to save memory. */
	readonly #onClose: (this: Socket) => void;
	/** Spreads parsing over turns of the event loop, since Node may read from a hundred sockets per turn. */
	readonly #yieldToParse = createYield(setImmediate, parsedPerTurn);
	/** Delays unauthenticated requests; separate from the gateway's own, so that devices do not wait for them. */
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

	/** Limits the connections of a server. Call it before the server listens. */
	watch(server: Server, isTls: boolean): void {
		server.on("connection", (socket) => this.#add(socket));
		server.on(isTls ? "secureConnection" : "connection", (socket: Socket) =>
			this.#readers.set(socket, new RequestReader(socket, this.#yieldToParse)),
		);
	}

	/**
	 * Handles a request. @param isKnown whether it has a valid token, so that it is not delayed
	 * @returns promise to await before the response; undefined: no delay
	 */
	onRequest(request: IncomingMessage, response: ServerResponse, isKnown: boolean): Promise<void> | undefined {
		return this.#readers
			.get(request.socket)
			?.onRequest(request, response, isKnown ? undefined : this.#yieldToLoop);
	}

	/** Stops limiting an upgraded connection. @returns all bytes received after the request */
	release(socket: object, head: Buffer): Buffer {
		const rest = this.#readers.get(socket)?.release() ?? [];
		this.#readers.delete(socket);
		return rest.length > 0 ? Buffer.concat([head, ...rest]) : head;
	}

	/** Exempts the connection of an authenticated client from the limit. */
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
		if (this.#count > this.#maxUnauthenticated) this.#closeOldest();
	}

	#remove({ network, name }: Endpoint): void {
		const sockets = this.#unauthenticated.get(network);
		if (!sockets?.delete(name)) return;
		this.#count -= 1;
		if (sockets.size === 0) this.#unauthenticated.delete(network);
	}

	/** Closes the oldest connection of the network with the most connections. */
	#closeOldest(): void {
		let [network, busiest] = ["", new Map<string, Socket>()];
		for (const [other, sockets] of this.#unauthenticated)
			if (sockets.size > busiest.size) [network, busiest] = [other, sockets];
		const [oldest] = busiest;
		if (!oldest) return;
		const [name, socket] = oldest;
		this.#remove({ network, name });
		socket.destroy();
	}
}

/** Passes received data to Node's parser in chunks, each after all responses to the previous one are sent. */
class RequestReader {
	#isAdmitted = false;
	readonly #socket: Socket;
	readonly #yieldToParse: () => Promise<void>;
	/** Listener shared by all responses, since a closure for each block of an image would cost time. */
	readonly #onClosed: (this: ServerResponse) => void;
	/** Node's listeners of the socket's data. */
	readonly #parsers: readonly unknown[];
	#buffered: Buffer[] = [];
	#pendingResponses = 0;
	/** Resolves when the latest delayed request may be handled. */
	#latestTurn: Promise<void> | undefined;
	#latestRequest: IncomingMessage | undefined;
	#isFeeding = false;
	#isReleased = false;

	/** @param yieldToParse awaited before data of an unauthenticated client is parsed */
	constructor(socket: Socket, yieldToParse: () => Promise<void>) {
		this.#socket = socket;
		this.#yieldToParse = yieldToParse;
		const onResponseClosed = (request: IncomingMessage) => this.#onResponseClosed(request);
		this.#onClosed = function () {
			onResponseClosed(this.req);
		};
		this.#parsers = socket.listeners("data");
		socket.removeAllListeners("data");
		socket.on("data", this.#onData);
		// Emitted by Node after a full body buffer was read.
		socket.on("resume", this.#onResume);
	}

	/** Marks the client as authenticated. @returns false if it was already */
	admit(): boolean {
		const isFirst = !this.#isAdmitted;
		this.#isAdmitted = true;
		return isFirst;
	}

	/** @param yieldToLoop awaited by one request at a time; undefined: no delay */
	onRequest(
		request: IncomingMessage,
		response: ServerResponse,
		yieldToLoop: (() => Promise<void>) | undefined,
	): Promise<void> | undefined {
		this.#latestRequest = request;
		this.#pendingResponses += 1;
		response.on("close", this.#onClosed);
		if (!yieldToLoop) return undefined;
		this.#latestTurn = this.#latestTurn ? this.#latestTurn.then(yieldToLoop) : yieldToLoop();
		return this.#latestTurn;
	}

	#onResponseClosed(request: IncomingMessage): void {
		this.#pendingResponses -= 1;
		if (request.complete) this.#feed();
		else this.#linger();
	}

	/** Stops reading. @returns unparsed bytes */
	release(): Buffer[] {
		this.#isReleased = true;
		this.#socket.off("data", this.#onData).off("resume", this.#onResume);
		return this.#buffered.splice(0);
	}

	readonly #onResume = (): void => this.#feed();

	readonly #onData = (bytes: Buffer): void => {
		this.#buffered.push(bytes);
		if (this.#isAdmitted) return this.#feed();
		this.#socket.pause();
		void this.#yieldToParse().then(() => this.#feed());
	};

	#feed(): void {
		// A response may be sent while the chunk with its request is parsed.
		if (this.#isFeeding || this.#isReleased) return;
		this.#isFeeding = true;
		while (this.#canParse()) {
			const chunk = this.#nextChunk();
			if (!chunk) break;
			for (const parse of this.#parsers)
				if (typeof parse === "function") Reflect.apply(parse, this.#socket, [chunk]);
		}
		this.#isFeeding = false;
		if (this.#isReleased) return;
		if (this.#buffered.length > 0 || this.#isBodyFull()) this.#socket.pause();
		else if (this.#socket.isPaused()) this.#socket.resume();
	}

	#canParse(): boolean {
		if (this.#isReleased || this.#socket.destroyed) return false;
		return this.#latestRequest?.complete === false ? !this.#isBodyFull() : this.#pendingResponses === 0;
	}

	/** Whether Node's buffer for the body is full, at which point Node would pause the socket. */
	#isBodyFull(): boolean {
		const body = this.#latestRequest;
		return body?.complete === false && body.readableLength >= body.readableHighWaterMark;
	}

	#nextChunk(): Buffer | undefined {
		const bytes = this.#buffered.shift();
		if (!bytes) return undefined;
		const isBody = this.#latestRequest?.complete === false;
		if (isBody && this.#isAdmitted) return bytes;
		const length = isBody ? bodyChunkBytes : this.#isAdmitted ? admittedChunkBytes : chunkBytes;
		if (bytes.length <= length) return bytes;
		this.#buffered.unshift(bytes.subarray(length));
		return bytes.subarray(0, length);
	}

	/**
	 * Stops reading, and closes later. Closing while data arrives would reset the connection before the response is read.
	 */
	#linger(): void {
		this.release();
		this.#socket.pause();
		setTimeout(() => this.#socket.destroy(), lingerMs()).unref();
	}
}

/** Returns `limit`, or half of the limit of open files if that is lower; the rest is for authenticated clients. */
export function maxUnauthenticatedOf(limit: number): number {
	try {
		const [, openFiles] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
		return Math.min(limit, Math.floor(Number(openFiles ?? Number.POSITIVE_INFINITY) / 2));
	} catch {
		// Not Linux.
		return limit;
	}
}
