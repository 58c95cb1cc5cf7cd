/**
 * The way to the gateway that is meant to stay open: connects while there is a network, and again after each loss, by the
 * rules of backoff.ts. What happens on one connection is gateway-socket.ts's business.
 */

import Timer from "timer";
import type { Host } from "../host.js";
import { Backoff } from "./backoff.js";
import { type ConnectionEnd, failed } from "./connection-end.js";
import { GatewaySocket } from "./gateway-socket.js";
import type { GatewayUrl } from "./gateway-url.js";

/** The retries are counted anew once a connection has held this long. */
const provenAfterMs = 30_000;

/** `failed`: all retries of a round are used up, or the gateway refused the token; the next try follows by itself. */
export type LinkState = "offline" | "connecting" | "connected" | "failed";

export interface LinkOptions {
	readonly network: Host["network"];
	readonly url: GatewayUrl;
	/** For `wss`: the gateway's certificate authority, its DER in base64. */
	readonly certificate: string | undefined;
	readonly headers: Iterable<readonly [string, string]>;
	readonly onStateChanged: (state: LinkState) => void;
	readonly onMessage: (message: unknown) => void;
	/** Nothing waits to be sent any more. */
	readonly onDrained: () => void;
}

export class Link {
	readonly #options: LinkOptions;
	readonly #backoff: Backoff;
	#socket: GatewaySocket | undefined;
	#state: LinkState = "offline";
	#provenTimer: Timer | undefined;

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

	/** Whether a message handed to `send` now goes out at once. */
	get isDrained(): boolean {
		return this.#socket?.isDrained ?? false;
	}

	/** There is a network: connects. */
	start(): void {
		if (this.#state === "offline") this.#connect();
	}

	/** There is no network any more. */
	stop(): void {
		this.#drop();
		this.#backoff.reset();
		this.#setState("offline");
	}

	/** Somebody waits: tries at once where the next try is only planned. */
	retryNow(): void {
		if (!this.#backoff.isWaiting) return;
		this.#backoff.reset();
		this.#setState("connecting");
		this.#connect();
	}

	/** Sends a message; it is lost where there is no connection. */
	send(message: object): void {
		this.#socket?.send(JSON.stringify(message));
	}

	#connect(): void {
		const { network, url, certificate, headers, onMessage, onDrained } = this.#options;
		// What has failed shows as failed until a try has another outcome.
		if (this.#state !== "failed") this.#setState("connecting");
		try {
			this.#socket = new GatewaySocket({
				part: url.isSecure ? network.wss : network.ws,
				certificate,
				dns: network.dns,
				url,
				headers,
				onMessage,
				onDrained,
				onOpen: () => {
					this.#provenTimer = Timer.set(() => this.#backoff.reset(), provenAfterMs);
					this.#setState("connected");
				},
				onClosed: (end) => this.#lost(end),
			});
		} catch (error) {
			// No memory for a socket, say. This runs in a timer, where an exception is a restart.
			this.#lost(failed(`no connection could be begun: ${error}`));
		}
	}

	#lost(end: ConnectionEnd): void {
		trace(`gateway: ${end.reason}\n`);
		this.#drop();
		this.#setState(end.kind === "refused" ? "failed" : "connecting");
		switch (end.kind) {
			case "failed":
				return this.#backoff.failed();
			case "closed":
				return this.#backoff.ended();
			case "busy":
				return this.#backoff.pause(end.waitMs);
			case "refused":
				return this.#backoff.refused();
		}
	}

	#drop(): void {
		Timer.clear(this.#provenTimer);
		this.#provenTimer = undefined;
		this.#socket?.close();
		this.#socket = undefined;
	}

	#setState(state: LinkState): void {
		if (this.#state === state) return;
		this.#state = state;
		this.#options.onStateChanged(state);
	}
}
