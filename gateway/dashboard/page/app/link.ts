/** WebSocket of the page. It reconnects automatically, reports its state and settles each request exactly once. */

import type { MonitorFrame } from "../../../api/frames.js";
import { claimSocket } from "./socket.js";

export type LinkState =
	/** Counts of devices are present once the first were received. */
	| { readonly name: "connecting"; readonly loaded?: number; readonly total?: number }
	| { readonly name: "live" }
	/** Times are in milliseconds of the gateway's clock. */
	| {
			readonly name: "lost";
			readonly since: number;
			readonly retryAt: number;
			/** Whether the gateway announced its shutdown. */
			readonly isExpected: boolean;
	  };

export interface LinkOptions {
	readonly now: () => number;
	/** @returns whether the frame completes a snapshot of the devices */
	readonly onFrame: (frame: MonitorFrame) => boolean;
	readonly onOpen: () => void;
	readonly onState: (state: LinkState) => void;
	readonly onLoginNeeded: () => void;
}

type Request =
	| { readonly type: "control_device"; readonly targetId: string; readonly payload: object }
	| { readonly type: "boot_device"; readonly targetId: string }
	| { readonly type: "trigger_ota"; readonly targetId: string; readonly version: string }
	| { readonly type: "subscribe"; readonly summary: boolean; readonly devices: readonly string[] };

const firstRetryMs = 1_000;
const lastRetryMs = 15_000;
const requestTimeoutMs = 10_000;
const loginTimeoutMs = 5_000;
/** Close codes of RFC 6455, section 7.4.1. */
const goingAway = 1001;
const policyViolation = 1008;

const lost = "Connection to the gateway lost before it responded.";
const late = "The gateway did not respond in time.";

export class Link {
	readonly #options: LinkOptions;
	/** Settles a request, with the reason of a failure. */
	readonly #requests = new Map<string, (problem?: string) => void>();
	#socket: WebSocket | undefined;
	#retryMs = firstRetryMs;
	#retryTimer: number | undefined;
	#requestCount = 0;
	#lostSince: number | undefined;
	#isExpected = false;
	/** Number of received devices of the snapshot. */
	#loaded = 0;

	constructor(options: LinkOptions) {
		this.#options = options;
		addEventListener("online", () => this.retryNow());
		addEventListener("offline", () => this.#socket?.close());
		document.addEventListener("visibilitychange", () => {
			if (!document.hidden) this.retryNow();
		});
	}

	/** Connects now, unless connected or connecting. */
	retryNow(): void {
		if (this.#socket) return;
		window.clearTimeout(this.#retryTimer);
		this.#connect();
	}

	/** Sends a request. @throws Error with the reason of a rejection, or if the gateway did not respond */
	request(message: Request): Promise<void> {
		const socket = this.#socket;
		if (socket?.readyState !== WebSocket.OPEN) return Promise.reject(new Error(lost));
		this.#requestCount += 1;
		const requestId = String(this.#requestCount);
		socket.send(JSON.stringify({ ...message, requestId }));
		return new Promise((resolve, reject) => {
			const timer = window.setTimeout(() => this.#settle(requestId, late), requestTimeoutMs);
			this.#requests.set(requestId, (problem) => {
				window.clearTimeout(timer);
				if (problem === undefined) resolve();
				else reject(new Error(problem));
			});
		});
	}

	#connect(): void {
		const { socket, texts } = claimSocket();
		let isOpened = false;
		this.#socket = socket;
		const onMessage = (text: string) => {
			if (this.#socket === socket) this.#receive(text);
		};
		const onOpen = () => {
			isOpened = true;
			if (this.#socket === socket) this.#options.onOpen();
		};
		const onClose = async () => {
			// Browsers do not report why a handshake failed.
			if (!isOpened && (await isLoginNeeded())) this.#options.onLoginNeeded();
			else this.drop(socket);
		};
		socket.addEventListener("message", ({ data }) => onMessage(String(data)));
		socket.addEventListener("open", onOpen);
		socket.addEventListener("close", ({ code }) => {
			// The login may have ended: check it, as after a rejected handshake.
			if (code === policyViolation) isOpened = false;
			if (code === goingAway) this.#isExpected = true;
			return onClose();
		});
		if (socket.readyState === WebSocket.OPEN) onOpen();
		for (const text of texts) onMessage(text);
		if (socket.readyState === WebSocket.CLOSED) void onClose();
	}

	#receive(text: string): void {
		const frame: MonitorFrame = JSON.parse(text);
		if (frame.type === "ack") return this.#settle(frame.requestId);
		if (frame.type === "error") return this.#settle(frame.requestId, frame.message);
		// The page shows the previous state until all devices are received.
		if (!this.#options.onFrame(frame)) return this.#onPart(frame);
		this.#retryMs = firstRetryMs;
		this.#lostSince = undefined;
		this.#isExpected = false;
		this.#options.onState({ name: "live" });
	}

	#onPart(frame: MonitorFrame): void {
		if (frame.type !== "summary" || frame.remaining === undefined) return;
		if (frame.reason === "snapshot") this.#loaded = 0;
		this.#loaded += frame.devices.length;
		const total = this.#loaded + frame.remaining;
		this.#options.onState({ name: "connecting", loaded: this.#loaded, total });
	}

	#settle(requestId = "", problem?: string): void {
		const settle = this.#requests.get(requestId);
		this.#requests.delete(requestId);
		settle?.(problem);
	}

	/** Abandons a connection, on which the gateway may no longer respond, and schedules another one. */
	drop(socket = this.#socket): void {
		if (!socket || this.#socket !== socket) return;
		this.#socket = undefined;
		socket.close();
		for (const requestId of [...this.#requests.keys()]) this.#settle(requestId, lost);
		const delayMs = this.#retryMs * (0.5 + Math.random() / 2);
		this.#retryMs = Math.min(this.#retryMs * 2, lastRetryMs);
		this.#retryTimer = window.setTimeout(() => this.retryNow(), delayMs);
		const now = this.#options.now();
		this.#lostSince ??= now;
		const [since, isExpected] = [this.#lostSince, this.#isExpected];
		this.#options.onState({ name: "lost", since, retryAt: now + delayMs, isExpected });
	}
}

/** Whether the gateway rejects the login of this page. */
async function isLoginNeeded(): Promise<boolean> {
	const signal = AbortSignal.timeout(loginTimeoutMs);
	const response = await fetch("login/state", { cache: "no-store", signal }).catch(() => undefined);
	return response?.status === 401;
}
