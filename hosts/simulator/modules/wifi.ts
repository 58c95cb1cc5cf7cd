/**
 * Wi-Fi with an access point that the panel switches on and off, and that accepts all passwords but one. Like with the SDK's driver, an
 * attempt takes time, ends in a callback, and has neither retries nor a timeout.
 */

import Net from "net";
import type { Panel, PanelOptions } from "simulator/panel";
import Timer from "timer";
import type { WiFi, WiFiReason } from "../../../device/host.js";

const attemptMs = 500;
const rejectedPassword = "wrong-password";
const status = Object.freeze({ down: 200, connecting: 300, usable: 500 });

/** Radio shared by all network clients. */
export class Radio {
	readonly #panel: Panel;
	isAccessPointOn: boolean;
	#connection: number = status.down;
	onAccessPointLost: () => void = () => {};

	constructor(options: PanelOptions) {
		this.#panel = options.panel;
		this.isAccessPointOn = options.boot.isWiFiOn;
		options.panel.listen(({ isWiFiOn }) => {
			if (isWiFiOn === undefined) return;
			this.isAccessPointOn = isWiFiOn;
			if (!isWiFiOn) this.onAccessPointLost();
		});
	}

	get connection(): number {
		return this.#connection;
	}

	set connection(connection: number) {
		this.#connection = connection;
		this.#panel.post({ wifi: connection });
	}

	get isUsable(): boolean {
		return this.#connection === status.usable;
	}
}

export interface WiFiOptions {
	readonly radio: Radio;
	readonly onChanged: (property: string) => void;
}

export class SimulatedWiFi implements WiFi {
	readonly #radio: Radio;
	readonly #onChanged: (property: string) => void;
	#ssid: string | undefined;
	#attempt: Timer | undefined;
	#reason: WiFiReason | undefined;

	constructor(options: WiFiOptions) {
		this.#radio = options.radio;
		this.#onChanged = options.onChanged;
		options.radio.onAccessPointLost = () => {
			if (options.radio.isUsable) this.#change(status.down);
		};
	}

	get connection(): number {
		return this.#radio.connection;
	}

	get address(): string | undefined {
		return this.#radio.isUsable ? (Net.get("IP") ?? "127.0.0.1") : undefined;
	}

	get SSID(): string | undefined {
		return this.#radio.isUsable ? this.#ssid : undefined;
	}

	get RSSI(): number | undefined {
		return this.#radio.isUsable ? -50 : undefined;
	}

	get reason(): WiFiReason | undefined {
		return this.#reason;
	}

	/** No-op: the desktop has its own host name. */
	configure(): void {}

	connect(options: { SSID: string; password?: string }): void {
		if (this.#attempt) throw new Error("already connecting");
		this.#ssid = options.SSID;
		this.#radio.connection = status.connecting;
		this.#attempt = Timer.set(() => {
			this.#attempt = undefined;
			this.#reason = this.#failureReason(options.password);
			this.#change(this.#reason === undefined ? status.usable : status.down);
		}, attemptMs);
	}

	disconnect(): void {
		Timer.clear(this.#attempt);
		this.#attempt = undefined;
		this.#radio.connection = status.down;
	}

	close(): void {
		this.disconnect();
		this.#radio.onAccessPointLost = () => {};
	}

	/** @returns undefined if the access point accepts the connection */
	#failureReason(password: string | undefined): WiFiReason | undefined {
		if (!this.#radio.isAccessPointOn) return "no_access_point";
		return password === rejectedPassword ? "wrong_password" : undefined;
	}

	#change(connection: number): void {
		this.#radio.connection = connection;
		this.#onChanged("connection");
	}
}
