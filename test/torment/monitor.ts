/** Monitor with the dashboard's state model that counts the responses to its requests. */

import { WebSocket } from "ws";
import { Fleet } from "../../gateway/api/client/fleet.js";
import type { MonitorFrame } from "../../gateway/api/frames.js";
import { bearer, monitorToken } from "../support/gateway-settings.js";
import type { Journal } from "./journal.js";
import type { Ledger } from "./ledger.js";

/** Result of a request: `code` is "ack", an error code, or "lost" if the connection ended before the response. */
export interface Outcome {
	readonly code: string;
	readonly message: string;
}

export interface MonitorOptions {
	readonly name: string;
	/** URL of the gateway; undefined while it is down. */
	readonly port: () => number | undefined;
	readonly ledger: Ledger;
	readonly journal: Journal;
}

interface Request {
	readonly text: string;
	/** Number of checks that may pass without a response. */
	patience: number;
	resolve(outcome: Outcome): void;
}

const retryMs = 200;
/** Number of checks, long enough for a slow disk and a busy computer. */
const patience = 60;

export class Monitor {
	readonly name: string;
	/** State that it shows. */
	readonly fleet = new Fleet(() => {});
	readonly #options: MonitorOptions;
	#socket: WebSocket | undefined;
	#hasSnapshot = false;
	#isClosed = false;
	#count = 0;
	/** Requests of the current connection by id. */
	#requests = new Map<string, Request>();

	constructor(options: MonitorOptions) {
		this.name = options.name;
		this.#options = options;
		this.#connect();
	}

	/** Whether it is connected and has the whole snapshot. */
	get isLive(): boolean {
		return this.#hasSnapshot && this.#socket?.readyState === WebSocket.OPEN && !this.#socket.isPaused;
	}

	get unanswered(): number {
		return this.#requests.size;
	}

	/** Sends a request. Never rejects. */
	request(message: object): Promise<Outcome> {
		const socket = this.#socket;
		if (socket?.readyState !== WebSocket.OPEN) return Promise.resolve(lost);
		this.#count += 1;
		const requestId = `${this.name}-${this.#count}`;
		const text = JSON.stringify({ ...message, requestId });
		socket.send(text);
		return new Promise((resolve) => this.#requests.set(requestId, { text, patience, resolve }));
	}

	set isReading(isReading: boolean) {
		if (isReading) this.#socket?.resume();
		else this.#socket?.pause();
	}

	/** Loses its connection and reconnects. */
	drop(): void {
		this.#socket?.terminate();
	}

	close(): void {
		this.#isClosed = true;
		this.drop();
	}

	/**
	 * Checks pending requests. Called regularly while the gateway is up: a request that stays unanswered is a broken
	 * invariant.
	 */
	look(): void {
		if (!this.isLive) return;
		for (const request of this.#requests.values()) {
			request.patience -= 1;
			if (request.patience === 0)
				this.#options.journal.break(`${this.name} got no response to ${request.text.slice(0, 200)}`);
		}
	}

	#connect(): void {
		if (this.#isClosed) return;
		const port = this.#options.port();
		const retry = () => setTimeout(() => this.#connect(), retryMs);
		if (port === undefined) return void retry();
		const socket = new WebSocket(`ws://127.0.0.1:${port}/monitor`, { headers: bearer(monitorToken) });
		this.#socket = socket;
		this.#hasSnapshot = false;
		socket.on("error", () => {});
		socket.on("message", (data) => this.#take(JSON.parse(data.toString())));
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
			if (this.fleet.update(frame)) this.#hasSnapshot = true;
		} else if (frame.type === "device_message") {
			ledger.checkMessage(frame);
			this.fleet.receive(frame, 0);
		} else if (frame.type === "ack" || frame.type === "error") {
			const answer = { code: frame.type === "ack" ? "ack" : frame.code, message: JSON.stringify(frame) };
			this.#answer(frame.requestId, answer);
		}
	}

	#answer(requestId: string | undefined, outcome: Outcome): void {
		const request = this.#requests.get(requestId ?? "");
		if (!request)
			return this.#options.journal.break(`${this.name} got an unexpected response: ${outcome.message}`);
		this.#requests.delete(requestId ?? "");
		request.resolve(outcome);
	}
}

const lost: Outcome = { code: "lost", message: "the connection ended" };
