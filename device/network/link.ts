/** Keeps a connection to the gateway open while the network is up, and reconnects with a backoff. */

import Timer from "timer";
import type { Host } from "../host.js";
import { Backoff } from "./backoff.js";
import type { ConnectionEnd } from "./connection-end.js";
import { GatewaySocket } from "./gateway-socket.js";
import type { Url } from "./url.js";

/** Age at which a connection resets the backoff. */
const stableAfterMs = 30_000;

/**
 * `failed`: a round of retries failed. `rejected`: the gateway rejected the token or the device. Both last until the first attempt of
 * the next round, 30 to 60 s later, ends; if it fails, the state is `connecting` for the rest of the round.
 */
export type LinkState = "offline" | "connecting" | "connected" | "failed" | "rejected";

export interface LinkOptions {
	readonly network: Host["network"];
	/** For `wss`: the certificate authority as DER in base64. */
	readonly certificate: string | undefined;
	readonly headers: Iterable<readonly [string, string]>;
	/** Called before `connected`. @param date the gateway's HTTP date */
	readonly onDate: (date: string) => void;
	readonly onStateChanged: (state: LinkState) => void;
	readonly onMessage: (message: unknown) => void;
	readonly onDrained: () => void;
}

export class Link {
	readonly #options: LinkOptions;
	readonly #backoff: Backoff;
	#url: Url | undefined;
	#socket: GatewaySocket | undefined;
	#state: LinkState = "offline";
	#stableTimer: Timer | undefined;
	#problem: string | undefined;

	constructor(options: LinkOptions) {
		this.#options = options;
		this.#backoff = new Backoff({
			onRetry: () => this.#connect(),
			onExhausted: () => this.#setState("failed"),
		});
	}

	get state(): LinkState {
		return this.#state;
	}

	/** Why the last connection failed or ended. */
	get problem(): string | undefined {
		return this.#problem;
	}

	/** Whether a message would be sent immediately. */
	get isDrained(): boolean {
		return this.#socket?.isDrained ?? false;
	}

	/** Connects; no effect unless offline. */
	start(url: Url): void {
		if (this.#state !== "offline") return;
		this.#url = url;
		this.#connect();
	}

	stop(): void {
		this.#drop();
		this.#backoff.reset();
		this.#setState("offline");
	}

	/** Retries immediately if a retry is pending. */
	retryNow(): void {
		if (!this.#backoff.isWaiting) return;
		this.#backoff.reset();
		this.#setState("connecting");
		this.#connect();
	}

	/** Sends a message; drops it without a connection. */
	send(message: object): void {
		this.#socket?.send(JSON.stringify(message));
	}

	#connect(): void {
		const { network, certificate, headers, onDate, onMessage, onDrained } = this.#options;
		const url = this.#url;
		if (!url) return;
		// The ring must not change for one attempt a minute.
		if (this.#state !== "failed" && this.#state !== "rejected") this.#setState("connecting");
		this.#socket = new GatewaySocket({
			part: url.isSecure ? network.wss : network.ws,
			certificate,
			resolve: network.resolve,
			url,
			headers,
			onDate,
			onMessage,
			onDrained,
			onOpen: () => {
				this.#stableTimer = Timer.set(() => this.#backoff.reset(), stableAfterMs);
				this.#setState("connected");
			},
			onClosed: (end) => this.#lost(end),
		});
	}

	#lost(end: ConnectionEnd): void {
		this.#problem = end.reason;
		trace(`gateway: ${end.reason}\n`);
		this.#drop();
		this.#setState(end.kind === "rejected" ? "rejected" : "connecting");
		this.#planRetry(end);
		trace(`next attempt to reach the gateway in ${(this.#backoff.delayMs / 1000).toFixed(1)} s\n`);
	}

	#planRetry(end: ConnectionEnd): void {
		switch (end.kind) {
			case "failed":
				return this.#backoff.failed();
			case "busy":
				return this.#backoff.pause(end.waitMs, end.spreadMs);
			case "rejected":
				return this.#backoff.rejected();
		}
	}

	#drop(): void {
		Timer.clear(this.#stableTimer);
		this.#stableTimer = undefined;
		this.#socket?.close();
		this.#socket = undefined;
	}

	#setState(state: LinkState): void {
		if (this.#state === state) return;
		this.#state = state;
		this.#options.onStateChanged(state);
	}
}
