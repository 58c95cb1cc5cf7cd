/** A monitor that believes what it is told, as the dashboard does, and counts the answers to what it asks for. */

import { WebSocket } from "ws";
import { Fleet } from "../../gateway/dashboard/page/model/fleet.js";
import type { MonitorFrame } from "../../gateway/dashboard/page/model/messages.js";
import { bearer, monitorToken } from "../fixtures/gateway.js";
import type { Journal } from "./journal.js";
import type { Ledger } from "./ledger.js";

/** What became of a request: `code` is "ack", an error's code, or "lost" where the connection ended before the answer. */
export interface Outcome {
	readonly code: string;
	readonly message: string;
}

export interface MonitorOptions {
	readonly name: string;
	/** Of the gateway; undefined while it is away. */
	readonly port: () => number | undefined;
	/** Milliseconds for which frames are gathered; undefined: each comes on its own. */
	readonly batchMs?: number | undefined;
	readonly ledger: Ledger;
	readonly journal: Journal;
}

interface Request {
	readonly text: string;
	/** Looks that it may still go without an answer. */
	patience: number;
	resolve(outcome: Outcome): void;
}

const retryMs = 200;
/** Looks; a slow disk and a busy computer are no reason for none. */
const patience = 60;

export class Monitor {
	readonly name: string;
	/** What it shows. */
	readonly fleet = new Fleet(() => {});
	readonly #options: MonitorOptions;
	#socket: WebSocket | undefined;
	#hasSnapshot = false;
	#isClosed = false;
	#count = 0;
	/** Of the present connection, by their ids; what was garbage has none, and is known by its number. */
	#requests = new Map<string, Request>();

	constructor(options: MonitorOptions) {
		this.name = options.name;
		this.#options = options;
		this.#connect();
	}

	/** Whether it is told of changes, and has been told of all that was before. */
	get isLive(): boolean {
		return this.#hasSnapshot && this.#socket?.readyState === WebSocket.OPEN && !this.#socket.isPaused;
	}

	get unanswered(): number {
		return this.#requests.size;
	}

	/** Sends a request. The promise never fails. */
	ask(message: object): Promise<Outcome> {
		this.#count += 1;
		const requestId = `${this.name}-${this.#count}`;
		return this.#send(requestId, JSON.stringify({ ...message, requestId }));
	}

	/** Sends what is no request. */
	babble(text: string): Promise<Outcome> {
		this.#count += 1;
		return this.#send(`garbage ${this.#count}`, text);
	}

	/** Reads nothing any more, or reads again. */
	set isReading(isReading: boolean) {
		if (isReading) this.#socket?.resume();
		else this.#socket?.pause();
	}

	/** Loses its connection, and makes a new one. */
	drop(): void {
		this.#socket?.terminate();
	}

	close(): void {
		this.#isClosed = true;
		this.drop();
	}

	/** To be called regularly while the gateway is there: a request that gets no answer for long is a broken invariant. */
	look(): void {
		if (!this.isLive) return;
		for (const request of this.#requests.values()) {
			request.patience -= 1;
			if (request.patience === 0)
				this.#options.journal.break(`${this.name} got no answer to ${request.text.slice(0, 200)}`);
		}
	}

	#send(id: string, text: string): Promise<Outcome> {
		const socket = this.#socket;
		if (socket?.readyState !== WebSocket.OPEN) return Promise.resolve(lost);
		socket.send(text);
		return new Promise((resolve) => this.#requests.set(id, { text, patience, resolve }));
	}

	#connect(): void {
		const { port: portNow, batchMs } = this.#options;
		if (this.#isClosed) return;
		const port = portNow();
		const retry = () => setTimeout(() => this.#connect(), retryMs);
		if (port === undefined) return void retry();
		const query = batchMs === undefined ? "" : `?batch=${batchMs}`;
		const socket = new WebSocket(`ws://127.0.0.1:${port}/monitor${query}`, { headers: bearer(monitorToken) });
		this.#socket = socket;
		this.#hasSnapshot = false;
		socket.on("error", () => {});
		socket.on("message", (data) => {
			const told: MonitorFrame | readonly MonitorFrame[] = JSON.parse(data.toString());
			for (const frame of Array.isArray(told) ? told : [told]) this.#take(frame);
		});
		socket.on("close", () => {
			const requests = this.#requests;
			this.#requests = new Map();
			for (const { resolve } of requests.values()) resolve(lost);
			retry();
		});
	}

	#take(frame: MonitorFrame): void {
		const { ledger } = this.#options;
		if (frame.type === "status_update") {
			for (const session of frame.sessions) ledger.checkSession(session);
			if (this.fleet.update(frame, 0)) this.#hasSnapshot = true;
		} else if (frame.type === "device_message") {
			ledger.checkMessage(frame);
			this.fleet.receive(frame, 0);
		} else {
			const answer = { code: frame.type === "ack" ? "ack" : frame.code, message: JSON.stringify(frame) };
			this.#answer(frame.requestId, answer);
		}
	}

	#answer(requestId: string | undefined, outcome: Outcome): void {
		// Garbage is answered without an id: which of it does not matter.
		const id = requestId ?? [...this.#requests.keys()].find((each) => each.startsWith("garbage"));
		const request = this.#requests.get(id ?? "");
		if (!request)
			return this.#options.journal.break(
				`${this.name} got an answer that it does not wait for: ${outcome.message}`,
			);
		this.#requests.delete(id ?? "");
		request.resolve(outcome);
	}
}

const lost: Outcome = { code: "lost", message: "the connection ended" };
