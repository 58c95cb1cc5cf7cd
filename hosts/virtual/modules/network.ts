/** Wi-Fi, name resolution and time queries. Node decides whether there is an access point, and does the look-ups. */

import type {
	FoundNetwork,
	ResolveOptions,
	Resolver as ResolverInterface,
	ScanOptions,
	TimeQuery as TimeQueryInterface,
	TimeQueryOptions,
	WiFi as WiFiInterface,
	WiFiReason,
} from "../../../device/host.js";
import Channel from "./channel.js";

interface AccessPoint {
	readonly SSID: string;
	readonly address: string;
	readonly RSSI: number;
	readonly BSSID?: string;
	readonly channel?: number;
}

/** ECMA-419 `embedded:network/interface/wifi`. */
export class WiFi implements WiFiInterface {
	readonly #channel: Channel;
	#connection = 200;
	#accessPoint: AccessPoint | undefined;
	#reason: WiFiReason | undefined;
	#scan: ScanOptions | undefined;

	constructor(options: { onChanged: (property: string) => void }) {
		this.#channel = new Channel("wifi", {}, (event, detail) => {
			if (event === "scanned") return this.#onScanned(detail);
			this.#accessPoint = isAccessPoint(detail) ? detail : undefined;
			this.#reason = isReason(detail) ? detail : undefined;
			const connection = this.#accessPoint ? 500 : 200;
			// As with the SDK, a change of RSSI is not reported.
			if (event === "signal" || connection === this.#connection) return;
			this.#connection = connection;
			options.onChanged("connection");
		});
	}

	get connection(): number {
		return this.#connection;
	}

	get address(): string | undefined {
		return this.#accessPoint?.address;
	}

	get SSID(): string | undefined {
		return this.#accessPoint?.SSID;
	}

	get BSSID(): string | undefined {
		return this.#accessPoint?.BSSID;
	}

	get RSSI(): number | undefined {
		return this.#accessPoint?.RSSI;
	}

	get channel(): number | undefined {
		return this.#accessPoint?.channel;
	}

	get reason(): WiFiReason | undefined {
		return this.#reason;
	}

	configure(options: { hostname: string }): void {
		this.#channel.post("configure", options);
	}

	connect(options: { SSID: string; password?: string }): void {
		if (this.#connection === 300) throw new Error("already connecting");
		this.#connection = 300;
		this.#reason = undefined;
		this.#channel.post("connect", options);
	}

	scan(options: ScanOptions): void {
		if (this.#connection === 300 || this.#scan) throw new Error("busy");
		this.#scan = options;
		this.#channel.post("scan");
	}

	/** No callback follows, as with the SDK. */
	disconnect(): void {
		this.#connection = 200;
		this.#accessPoint = undefined;
		this.#channel.post("disconnect");
	}

	close(): void {
		this.#channel.close();
	}

	#onScanned(networks: unknown): void {
		const scan = this.#scan;
		this.#scan = undefined;
		if (Array.isArray(networks)) for (const network of networks.filter(isFound)) scan?.onFound(network);
		scan?.onComplete();
	}
}

function isFound(detail: unknown): detail is FoundNetwork {
	return typeof detail === "object" && detail !== null && "SSID" in detail && "RSSI" in detail;
}

function isReason(detail: unknown): detail is WiFiReason {
	return detail === "wrong_password" || detail === "no_access_point" || detail === "signal_lost";
}

function isAccessPoint(detail: unknown): detail is AccessPoint {
	return typeof detail === "object" && detail !== null && "SSID" in detail;
}

/** ECMA-419 DNS resolver. Like the SDK's, a look-up cannot be cancelled. */
export class Resolver implements ResolverInterface {
	resolve(options: ResolveOptions): void {
		const { host } = options;
		const channel = new Channel("dns", { host }, (event, address) => {
			channel.close();
			if (event === "resolved" && typeof address === "string") options.onResolved(host, address);
			else options.onError();
		});
	}
}

/** Asks a time server for the time: Node's clock answers. */
export class TimeQuery implements TimeQueryInterface {
	readonly #channel: Channel;

	constructor({ server, onTime }: TimeQueryOptions) {
		this.#channel = new Channel("time", { server }, (_event, seconds) => {
			this.#channel.close();
			onTime(typeof seconds === "number" ? seconds : undefined);
		});
	}

	close(): void {
		this.#channel.close();
	}
}
