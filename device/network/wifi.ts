/**
 * Keeps the board on its access point. The SDK's own set-up never starts the application without Wi-Fi and never
 * reconnects; its driver neither retries nor gives up on an attempt, so both are done here.
 */

import Timer from "timer";
import type { WiFi, WiFiPart } from "../host.js";
import { Backoff } from "./backoff.js";

const attemptTimeoutMs = 20_000;
/** ECMA-419 network interface: connected, with an address. */
const usable = 500;
const provenAfterMs = 30_000;

/** `failed`: all retries of a round are used up; the next round follows by itself. */
export type WiFiState = "connecting" | "connected" | "failed";

export interface WiFiStationOptions {
	readonly part: WiFiPart;
	readonly ssid: string;
	/** Empty for an open network. */
	readonly password: string;
	readonly onStateChanged: (state: WiFiState) => void;
}

export class WiFiStation {
	readonly #options: WiFiStationOptions;
	readonly #wifi: WiFi;
	readonly #backoff: Backoff;
	#state: WiFiState = "connecting";
	#attemptTimer: Timer | undefined;
	#provenTimer: Timer | undefined;

	constructor(options: WiFiStationOptions) {
		this.#options = options;
		this.#backoff = new Backoff({
			onRetry: () => this.#attempt(),
			onExhausted: () => this.#setState("failed"),
		});
		this.#wifi = new options.part({
			onChanged: () => this.#onChanged(),
		});
	}

	/** Begins to connect. */
	start(): void {
		this.#options.onStateChanged(this.#state);
		this.#attempt();
	}

	get state(): WiFiState {
		return this.#state;
	}

	/** Name of the access point; empty while there is none. */
	get ssid(): string {
		return this.#state === "connected" ? (this.#wifi.SSID ?? "") : "";
	}

	/** Signal strength in dBm, -127 to 0; -127 while there is no access point. */
	get rssi(): number {
		const rssi = this.#state === "connected" ? this.#wifi.RSSI : undefined;
		return rssi === undefined ? -127 : Math.max(-127, Math.min(0, Math.round(rssi)));
	}

	/** The device's own address; empty while it has none. */
	get address(): string {
		return this.#state === "connected" ? (this.#wifi.address ?? "") : "";
	}

	/** Somebody waits: tries at once where the next try is only planned. */
	hurry(): void {
		if (!this.#backoff.isWaiting) return;
		this.#backoff.reset();
		this.#attempt();
	}

	#attempt(): void {
		this.#setState("connecting");
		this.#attemptTimer = Timer.set(() => this.#onAttemptFailed(), attemptTimeoutMs);
		const { ssid, password } = this.#options;
		try {
			this.#wifi.connect(password === "" ? { SSID: ssid } : { SSID: ssid, password });
		} catch (error) {
			trace(`Wi-Fi: ${error}\n`);
			this.#onAttemptFailed();
		}
	}

	#onChanged(): void {
		const connection = this.#wifi.connection;
		if (connection >= usable) {
			this.#clearTimers();
			this.#provenTimer = Timer.set(() => this.#backoff.reset(), provenAfterMs);
			this.#setState("connected");
		} else if (connection <= 200 && !this.#backoff.isWaiting) {
			this.#onAttemptFailed();
		}
	}

	#onAttemptFailed(): void {
		this.#clearTimers();
		this.#wifi.disconnect();
		this.#setState("connecting");
		this.#backoff.failed();
	}

	#clearTimers(): void {
		Timer.clear(this.#attemptTimer);
		this.#attemptTimer = undefined;
		Timer.clear(this.#provenTimer);
		this.#provenTimer = undefined;
	}

	#setState(state: WiFiState): void {
		if (this.#state === state) return;
		this.#state = state;
		this.#options.onStateChanged(state);
	}
}
