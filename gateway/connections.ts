/**
 * What a connection may cost before its client has shown a token. Node parses all requests that one read holds, up to
 * 2,500 in 64 KiB, and keeps every answer that is not read: a few such connections exhaust the memory of the process.
 */

import { readFileSync } from "node:fs";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "./access/origin.js";
import { createTurns } from "./sockets/turns.js";

/** Bytes that are parsed at once: a few requests without headers, at most. */
const pieceBytes = 256;
/** While a body comes; it makes no requests. */
const bodyPieceBytes = 16 * 1024;
/** Between two requests of clients without a token, all together: the gateway has time for all others. */
const requestPauseMs = 1;
/** Time for a client to read an answer that was sent before its request had come to its end. */
const lingerMs = 3000;

export interface ConnectionsOptions {
	/** Connections that may be open without having shown a token. */
	readonly maxStrangers: number;
}

/** The client's end of a connection: a TLS socket cannot be traced to its connection otherwise. */
interface Endpoint {
	readonly network: string;
	/** Address and port. */
	readonly name: string;
}

function endpointOf({ remoteAddress = "", remotePort = 0 }: Socket): Endpoint {
	return { network: networkOf(remoteAddress), name: `${remoteAddress} ${remotePort}` };
}

/** Limits the connections of a server. */
export class Connections {
	readonly #maxStrangers: number;
	readonly #readers = new WeakMap<object, RequestReader>();
	/** By network, and there by address and port, the oldest first. */
	readonly #strangers = new Map<string, Map<string, Socket>>();
	#count = 0;
	/** Not the one of devices: they must not wait for these. */
	readonly #turn = createTurns((begin) => setTimeout(begin, requestPauseMs));

	constructor({ maxStrangers }: ConnectionsOptions) {
		this.#maxStrangers = maxStrangers;
	}

	/** Has a server's connections limited; to be called before it listens. */
	watch(server: Server, isTls: boolean): void {
		server.on("connection", (socket) => this.#add(socket));
		server.on(isTls ? "secureConnection" : "connection", (socket: Socket) =>
			this.#readers.set(socket, new RequestReader(socket)),
		);
	}

	/** A request has come. @returns what is to be awaited before it is answered: clients without a token wait for a turn */
	async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const { network, name } = endpointOf(request.socket);
		const isStranger = this.#strangers.get(network)?.has(name);
		await this.#readers.get(request.socket)?.take(request, response, isStranger ? this.#turn : undefined);
	}

	/** A request to upgrade has come. @returns what was received after it */
	release(socket: object, head: Buffer): Buffer {
		return Buffer.concat([head, this.#readers.get(socket)?.release() ?? Buffer.alloc(0)]);
	}

	/** The client has shown a token: its connection is not cut off for a newer one. */
	admit(socket: Socket): void {
		this.#remove(endpointOf(socket));
	}

	#add(socket: Socket): void {
		if (socket.remoteAddress === undefined) return void socket.destroy();
		const { network, name } = endpointOf(socket);
		const sockets = this.#strangers.get(network) ?? new Map<string, Socket>();
		if (sockets.get(name) === socket) return;
		this.#strangers.set(network, sockets.set(name, socket));
		this.#count += 1;
		socket.once("close", () => {
			if (this.#strangers.get(network)?.get(name) === socket) this.#remove({ network, name });
		});
		if (this.#count > this.#maxStrangers) this.#cutOne();
	}

	#remove({ network, name }: Endpoint): void {
		const sockets = this.#strangers.get(network);
		if (!sockets?.delete(name)) return;
		this.#count -= 1;
		if (sockets.size === 0) this.#strangers.delete(network);
	}

	/** Cuts off the oldest stranger of the network that has the most, so that a device can always connect. */
	#cutOne(): void {
		let [most, network]: [Map<string, Socket>, string] = [new Map(), ""];
		for (const [each, sockets] of this.#strangers)
			if (sockets.size > most.size) [most, network] = [sockets, each];
		for (const [name, socket] of most) {
			this.#remove({ network, name });
			socket.destroy();
			return;
		}
	}
}

/**
 * Hands the bytes of a connection to Node's parser in pieces: the next one when the requests of the one before are
 * answered, and their answers have left.
 */
class RequestReader {
	readonly #socket: Socket;
	/** Node's own listener, which parses. */
	readonly #parse: readonly unknown[];
	#waiting: Buffer[] = [];
	#unanswered = 0;
	#latestTurn: Promise<void> = Promise.resolve();
	#latest: IncomingMessage | undefined;
	#isFeeding = false;
	#isReleased = false;

	constructor(socket: Socket) {
		this.#socket = socket;
		this.#parse = socket.listeners("data");
		socket.removeAllListeners("data");
		socket.on("data", this.#onData);
		// As when a body is read that was full.
		socket.on("resume", this.#onResume);
	}

	/** @param turn is waited for by one request of the connection at a time */
	take(request: IncomingMessage, response: ServerResponse, turn?: () => Promise<void>): Promise<void> {
		this.#latest = request;
		this.#unanswered += 1;
		response.once("close", () => {
			this.#unanswered -= 1;
			if (request.complete) this.#feed();
			else this.#linger();
		});
		if (turn) this.#latestTurn = this.#latestTurn.then(turn);
		return this.#latestTurn;
	}

	/** @returns what has not been parsed */
	release(): Buffer {
		this.#isReleased = true;
		this.#socket.off("data", this.#onData).off("resume", this.#onResume);
		return Buffer.concat(this.#waiting.splice(0));
	}

	readonly #onResume = (): void => this.#feed();

	readonly #onData = (bytes: Buffer): void => {
		this.#waiting.push(bytes);
		this.#feed();
	};

	#feed(): void {
		// A request that is answered at once comes here while its piece is being parsed.
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

	/** Whether what came of a body waits to be read. Node says that to the connection itself, which it does not read here. */
	#isBodyFull(): boolean {
		const body = this.#latest;
		return body?.complete === false && body.readableLength >= body.readableHighWaterMark;
	}

	#nextPiece(): Buffer | undefined {
		const bytes = this.#waiting.shift();
		if (!bytes) return undefined;
		const length = this.#latest?.complete === false ? bodyPieceBytes : pieceBytes;
		if (bytes.length > length) this.#waiting.unshift(bytes.subarray(length));
		return bytes.subarray(0, length);
	}

	/** Reads no more. A connection that is closed while bytes come is reset, and the client may not see the answer. */
	#linger(): void {
		this.release();
		this.#socket.pause();
		setTimeout(() => this.#socket.destroy(), lingerMs).unref();
	}
}

/** @returns how many connections without a token leave room for those with one: at most half of the files that may be open */
export function maxStrangersOf(limit: number): number {
	try {
		const [, openFiles] = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
		return Math.min(limit, Math.floor(Number(openFiles ?? Number.POSITIVE_INFINITY) / 2));
	} catch {
		// Not Linux.
		return limit;
	}
}
