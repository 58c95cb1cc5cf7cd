/** Connection to the gateway: Wi-Fi, time server, discovery, link, and messages that wait for the next connection. */

import type { Host } from "../host.js";
import type { SoundUpdate } from "../protocol/messages.js";
import type { Settings } from "../settings.js";
import type { SettingsTrial } from "../settings-trial.js";
import type { UpdateMessage } from "../update/updater.js";
import type { Clock } from "./clock.js";
import { GatewayDiscovery } from "./discovery.js";
import type { HttpAccess } from "./http-connection.js";
import { Link, type LinkState } from "./link.js";
import type { Url } from "./url.js";
import { knownNetworks, type WiFiState, WiFiStation } from "./wifi.js";

export interface GatewayOptions {
	readonly network: Host["network"];
	readonly sha256: Host["digest"]["sha256"];
	/** Undefined: found by discovery, and stored once the gateway has accepted the device. */
	readonly url: Url | undefined;
	readonly deviceId: string;
	readonly settings: Settings;
	readonly trial: Pick<SettingsTrial, "value" | "isUndecided">;
	readonly clock: Clock;
	/** Headers of the connection, besides the token. */
	readonly headers: Iterable<readonly [string, string]>;
	/** Not called for `connected`: the ring shows the link then. */
	readonly onWiFi: (state: WiFiState) => void;
	readonly onLink: (state: LinkState) => void;
	readonly onMessage: (message: unknown) => void;
	readonly onDrained: () => void;
}

export class Gateway implements HttpAccess {
	readonly network: Host["network"];
	readonly wifi: WiFiStation;
	readonly link: Link;
	/** For `wss`: the certificate authority as DER in base64. */
	readonly certificate: string | undefined;
	readonly #options: GatewayOptions;
	readonly #authorization: string;
	#discovery: GatewayDiscovery | undefined;
	/** Undefined during discovery. */
	#url: Url | undefined;
	/** Discovered address, until the gateway accepts the device. */
	#discovered: string | undefined;
	/** Results of updates and sounds that ended without a connection. */
	readonly #unsent: (UpdateMessage | SoundUpdate)[] = [];

	constructor(options: GatewayOptions) {
		const { network, url, deviceId, settings, trial, headers, onMessage, onDrained } = options;
		this.#options = options;
		this.network = network;
		this.#url = url;
		this.certificate = settings.text("ca") || undefined;
		this.#authorization = `Bearer ${settings.text("token")}`;
		this.wifi = new WiFiStation({
			part: network.wifi,
			networks: knownNetworks(
				(name) => settings.text(name),
				(name) => trial.value(name) !== undefined,
			),
			isTrialOn: () => trial.isUndecided,
			hostname: deviceId,
			onStateChanged: (state) => this.#onWiFi(state),
		});
		this.link = new Link({
			network,
			certificate: this.certificate,
			headers: [["Authorization", this.#authorization], ...headers],
			onStateChanged: (state) => {
				this.#onLink(state);
				if (state === "failed" && this.#discovered !== undefined) this.#discoverAnother(this.#discovered);
			},
			onDate: (date) => this.#options.clock.setByGateway(date),
			onMessage,
			onDrained,
		});
	}

	get isConnected(): boolean {
		return this.link.state === "connected";
	}

	/** Whether a message would be sent at once. */
	get isDrained(): boolean {
		return this.link.isDrained;
	}

	/** Why the gateway is unreachable. */
	get failureReason(): string {
		const { wifi, link } = this;
		if (wifi.state !== "connected") return wifi.problem ?? "no connection to the access point";
		if (link.state !== "connected") return link.problem ?? "the gateway did not answer";
		return "the gateway accepted no report";
	}

	start(): void {
		this.wifi.start();
	}

	/** Disconnects permanently and releases Wi-Fi. */
	close(): void {
		this.#options.clock.stop();
		this.#discovery?.close();
		this.link.stop();
		this.wifi.close();
	}

	/** Retries immediately if a retry is pending. */
	retryNow(): void {
		this.wifi.retryNow();
		this.link.retryNow();
	}

	/** Sends a message; drops it without a connection. */
	send(message: object): void {
		if (this.isConnected) this.link.send(message);
	}

	/** Sends a message now or on the next connection. */
	sendReliably(message: UpdateMessage | SoundUpdate): void {
		if (this.isConnected) this.send(message);
		else this.#unsent.push(message);
	}

	/** Returns the headers of an HTTP request. Only requests to the gateway carry the token. */
	headersFor({ isSecure, host, port }: Url): readonly (readonly [string, string])[] {
		const url = this.#url;
		const isGateway = isSecure === url?.isSecure && host === url.host && port === url.port;
		return isGateway ? [["authorization", this.#authorization]] : [];
	}

	#onWiFi(state: WiFiState): void {
		const { wifi, link } = this;
		const { clock, onWiFi } = this.#options;
		const { wifi_ssid, ip_address, wifi_rssi } = wifi.report;
		trace(
			`Wi-Fi ${state}${state === "connected" ? `: "${wifi_ssid}", ${ip_address}, ${wifi_rssi} dBm` : ""}\n`,
		);
		if (state === "connected") {
			// The gateway first: names are resolved one after the other, and the time server may not exist.
			if (this.#url) link.start(this.#url);
			else this.#startDiscovery();
			clock.start();
			return;
		}
		clock.stop();
		this.#discovery?.close();
		link.stop();
		onWiFi(state);
	}

	/** Repeats discovery without a gateway that has proved to know the token but is unreachable. */
	#discoverAnother(excluded: string): void {
		this.#discovered = undefined;
		this.#url = undefined;
		this.link.stop();
		this.#startDiscovery(excluded);
	}

	#startDiscovery(excluded?: string): void {
		this.#onLink("connecting");
		this.#discovery = new GatewayDiscovery({
			...this.#options,
			token: this.#options.settings.text("token"),
			isSecure: this.certificate !== undefined,
			excluded,
			onFound: (address, url) => {
				trace(`discovered gateway ${address}\n`);
				this.#discovered = address;
				this.#url = url;
				this.link.start(url);
			},
			onNotFound: () => this.#onLink("failed"),
		});
	}

	#onLink(state: LinkState): void {
		trace(`gateway ${state}\n`);
		this.wifi.onGateway(state === "connected" || state === "rejected");
		if (state === "connected") {
			if (this.#discovered !== undefined) this.#options.settings.remember("gateway", this.#discovered);
			this.#discovered = undefined;
			for (const message of this.#unsent) this.send(message);
			this.#unsent.length = 0;
		}
		this.#options.onLink(state);
	}
}
