/** Keeps the device connected to its access point. The SDK's driver has no retries and no timeout. */

import Timer from "timer";
import type { WiFi, WiFiPart, WiFiReason } from "../host.js";
import { Backoff } from "./backoff.js";

const attemptTimeoutMs = 20_000;
/** ECMA-419: connected, with an address. */
const usable = 500;
const provenAfterMs = 30_000;

/** `failed`: a round of retries failed, or the password was refused; another retry is planned. */
export type WiFiState = "connecting" | "connected" | "failed";

export interface WiFiStationOptions {
	readonly part: WiFiPart;
	readonly ssid: string;
	/** Empty for an open network. */
	readonly password: string;
	readonly hostname: string;
	readonly onStateChanged: (state: WiFiState) => void;
}

export class WiFiStation {
	readonly #options: WiFiStationOptions;
	readonly #wifi: WiFi;
	readonly #backoff: Backoff;
	#state: WiFiState = "connecting";
	#hasConnected = false;
	#problem: string | undefined;
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
		try {
			this.#wifi.configure({ hostname: options.hostname });
		} catch (error) {
			trace(`Wi-Fi: no host name: ${error}\n`);
		}
	}

	start(): void {
		this.#options.onStateChanged(this.#state);
		this.#attempt();
	}

	get state(): WiFiState {
		return this.#state;
	}

	/** Why the last attempt failed. */
	get problem(): string | undefined {
		return this.#problem;
	}

	/** Empty while there is no access point. */
	get ssid(): string {
		return this.#state === "connected" ? (this.#wifi.SSID ?? "") : "";
	}

	/** Signal strength in dBm, -127 to 0; -127 while there is no access point. */
	get rssi(): number {
		const rssi = this.#state === "connected" ? this.#wifi.RSSI : undefined;
		return rssi === undefined ? -127 : Math.max(-127, Math.min(0, Math.round(rssi)));
	}

	/** IPv4; empty while there is none. */
	get address(): string {
		return this.#state === "connected" ? (this.#wifi.address ?? "") : "";
	}

	/** No effect unless a retry is planned. */
	retryNow(): void {
		if (!this.#backoff.isWaiting) return;
		this.#backoff.reset();
		this.#setState("connecting");
		this.#attempt();
	}

	#attempt(): void {
		// `failed` is shown until an attempt succeeds.
		if (this.#state !== "failed") this.#setState("connecting");
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
			this.#hasConnected = true;
			this.#provenTimer = Timer.set(() => this.#backoff.reset(), provenAfterMs);
			this.#setState("connected");
		} else if (connection <= 200 && !this.#backoff.isWaiting) {
			this.#onAttemptFailed();
		}
	}

	#onAttemptFailed(): void {
		const { reason } = this.#wifi;
		this.#problem = this.#describe(reason);
		trace(`Wi-Fi: ${this.#problem}\n`);
		this.#clearTimers();
		this.#wifi.disconnect();
		// A weak signal looks like a wrong password: one that was right before is retried as usual.
		const isRefused = reason === "wrong_password" && !this.#hasConnected;
		this.#setState(isRefused ? "failed" : "connecting");
		if (isRefused) this.#backoff.refused();
		else this.#backoff.failed();
	}

	#describe(reason: WiFiReason | undefined): string {
		const { ssid } = this.#options;
		if (reason === "wrong_password") return `the access point "${ssid}" refused the password`;
		if (reason === "no_access_point") return `there is no access point "${ssid}" in reach`;
		return `no connection to "${ssid}"`;
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
