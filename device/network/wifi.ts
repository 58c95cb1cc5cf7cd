/**
 * Keeps the device connected to one of its Wi-Fi networks. The SDK's driver has no retries and no timeout, and supports
 * one network.
 */

import Timer from "timer";
import { attempt } from "../attempt.js";
import type { FoundNetwork, WiFi, WiFiPart, WiFiReason } from "../host.js";
import type { CompleteReport } from "../protocol/messages.js";
import { Backoff } from "./backoff.js";

const attemptTimeoutMs = 20_000;
/** A scan of all channels takes 2 s. */
const scanTimeoutMs = 6_000;
/** State "usable" of ECMA-419: connected, with an address. */
const usable = 500;
const stableAfterMs = 30_000;
/** Time after which a network without a gateway is left; longer than a gateway takes to restart. */
const withoutGatewayMs = 600_000;

/** `failed`: a round of retries failed, or each password was rejected; another retry is pending. */
export type WiFiState = "connecting" | "connected" | "failed";

export interface WiFiNetwork {
	readonly ssid: string;
	/** Empty for an open network. */
	readonly password: string;
	/** Part of a settings trial: tried first, and a rejected password fails the trial. */
	readonly isOnTrial: boolean;
}

type NetworkSetting = "ssid" | "password" | "ssid2" | "password2";

/** @param isNew whether the setting is under trial */
export function knownNetworks(
	text: (name: NetworkSetting) => string,
	isNew: (name: NetworkSetting) => boolean,
): readonly WiFiNetwork[] {
	const ssid = text("ssid");
	const first = { ssid, password: text("password"), isOnTrial: isNew("ssid") || isNew("password") };
	const ssid2 = text("ssid2");
	if (ssid2 === "") return [first];
	// The same name with another password prepares a planned password change; until then it is rejected.
	const isOnTrial = ssid2 !== ssid && (isNew("ssid2") || isNew("password2"));
	return [first, { ssid: ssid2, password: text("password2"), isOnTrial }];
}

export interface WiFiStationOptions {
	readonly part: WiFiPart;
	/** At least one. Tried in turns, the stronger first if a scan finds both. */
	readonly networks: readonly WiFiNetwork[];
	/** Whether a settings trial is running. */
	readonly isTrialOn: () => boolean;
	readonly hostname: string;
	readonly onStateChanged: (state: WiFiState) => void;
}

interface Candidate extends WiFiNetwork {
	hasConnected: boolean;
	/** Whether the password was rejected in this round of retries. */
	isRejected: boolean;
	/** Signal strength in the latest scan, in dBm. */
	rssi: number;
	/** Why the last attempt failed. */
	problem: string | undefined;
}

const notFound = -1000;

export class WiFiStation {
	readonly #options: WiFiStationOptions;
	readonly #wifi: WiFi;
	readonly #backoff: Backoff;
	readonly #networks: readonly Candidate[];
	/** Networks still to be tried in this turn; each is tried once a turn. */
	#turn: readonly Candidate[] = [];
	#current: Candidate | undefined;
	#state: WiFiState = "connecting";
	#connections = 0;
	#lastLoss: WiFiReason | "unknown" | undefined;
	#scanTimer: Timer | undefined;
	#attemptTimer: Timer | undefined;
	#stableTimer: Timer | undefined;
	/** Set while connected without reaching the gateway. */
	#leaveTimer: Timer | undefined;

	constructor(options: WiFiStationOptions) {
		this.#options = options;
		this.#networks = options.networks.map((network) => ({
			...network,
			hasConnected: false,
			isRejected: false,
			rssi: notFound,
			problem: undefined,
		}));
		this.#backoff = new Backoff({
			onRetry: () => this.#retry(),
			onExhausted: () => {
				this.#startRound();
				this.#setState("failed");
			},
		});
		this.#wifi = new options.part({
			onChanged: () => this.#onChanged(),
		});
		const { hostname } = options;
		attempt("Wi-Fi: the host name could not be set", () => this.#wifi.configure({ hostname }));
	}

	start(): void {
		this.#options.onStateChanged(this.#state);
		this.#retry();
	}

	/** Disconnects permanently; onStateChanged is not called anymore. */
	close(): void {
		this.#current = undefined;
		this.#state = "connecting";
		this.#backoff.reset();
		this.#clearTimers();
		this.#stopLeaving();
		Timer.clear(this.#scanTimer);
		this.#scanTimer = undefined;
		this.#wifi.disconnect();
		this.#wifi.close();
	}

	get state(): WiFiState {
		return this.#state;
	}

	/** Why the last attempts failed, for each network. */
	get problem(): string | undefined {
		const problems = this.#networks.flatMap(({ problem }) => problem ?? []);
		return problems.length > 0 ? problems.join("; ") : undefined;
	}

	/** Part of the state report; without a name and an address while disconnected. */
	get report(): Omit<CompleteReport["network"], "websocket_connected"> {
		const isConnected = this.#state === "connected";
		const {
			SSID = "",
			RSSI = -127,
			address = "",
			BSSID,
			channel,
		}: Partial<WiFi> = isConnected ? this.#wifi : {};
		return {
			wifi_connected: isConnected,
			wifi_ssid: SSID,
			wifi_rssi: Math.max(-127, Math.min(0, Math.round(RSSI))),
			ip_address: address,
			bssid: BSSID,
			channel,
			reconnects: Math.max(0, this.#connections - 1),
			last_loss: this.#lastLoss,
		};
	}

	/** Reports whether the gateway is reached: without it, the network is left after 10 minutes if there is another one. */
	onGateway(isReached: boolean): void {
		if (isReached) this.#stopLeaving();
		else if (this.#state === "connected" && this.#networks.length > 1)
			this.#leaveTimer ??= Timer.set(() => this.#leave(), withoutGatewayMs);
	}

	/** Retries immediately if a retry is pending. */
	retryNow(): void {
		if (!this.#backoff.isWaiting) return;
		this.#backoff.reset();
		this.#startRound();
		this.#setState("connecting");
		this.#retry();
	}

	#retry(): void {
		// `failed` stays until an attempt succeeds.
		if (this.#state !== "failed") this.#setState("connecting");
		if (this.#turn.length > 0 || this.#networks.length < 2 || !this.#scan()) this.#attempt();
	}

	/** @returns whether the scan has begun */
	#scan(): boolean {
		if (!this.#wifi.scan) return false;
		for (const network of this.#networks) network.rssi = notFound;
		const timer = Timer.set(() => {
			trace("Wi-Fi: the scan did not end\n");
			onComplete();
		}, scanTimeoutMs);
		const onComplete = () => {
			if (this.#scanTimer !== timer) return;
			Timer.clear(timer);
			this.#scanTimer = undefined;
			this.#attempt();
		};
		this.#scanTimer = timer;
		const onFound = ({ SSID, RSSI }: FoundNetwork) => {
			for (const network of this.#networks)
				if (network.ssid === SSID) network.rssi = Math.max(network.rssi, RSSI);
		};
		if (attempt("Wi-Fi: scan failed", () => this.#wifi.scan?.({ onFound, onComplete }))) return true;
		Timer.clear(timer);
		this.#scanTimer = undefined;
		return false;
	}

	#attempt(): void {
		if (this.#turn.length === 0) this.#turn = this.#nextTurn();
		const [network, ...rest] = this.#turn;
		if (!network) return;
		this.#turn = rest;
		this.#current = network;
		this.#attemptTimer = Timer.set(() => this.#onAttemptFailed(), attemptTimeoutMs);
		const { ssid, password } = network;
		const target = password === "" ? { SSID: ssid } : { SSID: ssid, password };
		if (!attempt("Wi-Fi", () => this.#wifi.connect(target))) this.#onAttemptFailed();
	}

	/** Networks not found by the scan come last but are tried, since they may be hidden. */
	#nextTurn(): readonly Candidate[] {
		const rank = (network: Candidate) => (this.#isBeingTried(network) ? 0 : network.rssi);
		return this.#networks.filter(({ isRejected }) => !isRejected).sort((a, b) => rank(b) - rank(a));
	}

	#isBeingTried(network: Candidate): boolean {
		return network.isOnTrial && this.#options.isTrialOn();
	}

	#onChanged(): void {
		const connection = this.#wifi.connection;
		if (connection >= usable) {
			this.#clearTimers();
			if (this.#state !== "connected") this.#onConnected();
			this.#stableTimer = Timer.set(() => this.#backoff.reset(), stableAfterMs);
			this.#setState("connected");
		} else if (connection <= 200 && !this.#backoff.isWaiting && !this.#scanTimer) {
			this.#onAttemptFailed();
		}
	}

	#onConnected(): void {
		this.#connections += 1;
		if (this.#current) this.#current.hasConnected = true;
		for (const network of this.#networks) network.problem = undefined;
		this.#startRound();
	}

	/** The attempt failed, or the connection was lost. */
	#onAttemptFailed(): void {
		const network = this.#current;
		if (!network) return;
		const { reason } = this.#wifi;
		if (this.#state === "connected") this.#lastLoss = reason ?? "unknown";
		network.problem = describe(network.ssid, reason);
		trace(`Wi-Fi: ${network.problem}\n`);
		this.#clearTimers();
		this.#stopLeaving();
		this.#wifi.disconnect();
		// A weak signal looks like a wrong password: a password that has worked is retried as usual.
		network.isRejected = reason === "wrong_password" && !network.hasConnected;
		const isHopeless =
			network.isRejected &&
			(this.#isBeingTried(network) || this.#networks.every(({ isRejected }) => isRejected));
		this.#setState(isHopeless ? "failed" : "connecting");
		// Closed within onStateChanged.
		if (!this.#current) return;
		if (!isHopeless) return this.#backoff.failed();
		this.#startRound();
		this.#backoff.rejected();
	}

	#leave(): void {
		const network = this.#current;
		if (!network) return;
		network.problem = `no gateway was reached through "${network.ssid}"`;
		trace(`Wi-Fi: ${network.problem}\n`);
		this.#clearTimers();
		this.#stopLeaving();
		this.#wifi.disconnect();
		this.#turn = this.#networks.filter((other) => other !== network);
		this.#setState("connecting");
		this.#backoff.failed();
	}

	#stopLeaving(): void {
		Timer.clear(this.#leaveTimer);
		this.#leaveTimer = undefined;
	}

	#startRound(): void {
		this.#turn = [];
		for (const network of this.#networks) network.isRejected = false;
	}

	#clearTimers(): void {
		Timer.clear(this.#attemptTimer);
		this.#attemptTimer = undefined;
		Timer.clear(this.#stableTimer);
		this.#stableTimer = undefined;
	}

	#setState(state: WiFiState): void {
		if (this.#state === state) return;
		this.#state = state;
		this.#options.onStateChanged(state);
	}
}

function describe(ssid: string, reason: WiFiReason | undefined): string {
	if (reason === "wrong_password") return `the access point "${ssid}" rejected the password`;
	if (reason === "no_access_point") return `there is no access point "${ssid}" in reach`;
	if (reason === "signal_lost") return `the signal of "${ssid}" was lost`;
	if (reason === "ended_by_access_point") return `the access point "${ssid}" ended the connection`;
	return `no connection to "${ssid}"`;
}
