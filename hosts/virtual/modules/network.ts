/** Wi-Fi, name resolution, datagrams and time queries, implemented in Node. */

import type {
	DatagramOptions,
	DatagramSocket,
	FoundNetwork,
	ScanOptions,
	TimeQuery as TimeQueryInterface,
	TimeQueryOptions,
	WiFi as WiFiInterface,
	WiFiReason,
} from "../../../device/host.js";
import type { JoinedNetwork } from "../peripherals.js";
import Channel from "./channel.js";

/** ECMA-419 `embedded:network/interface/wifi`. */
export class WiFi implements WiFiInterface {
	connection = 200;
	address: string | undefined;
	SSID: string | undefined;
	BSSID: string | undefined;
	RSSI: number | undefined;
	channel: number | undefined;
	reason: WiFiReason | undefined;
	readonly #channel: Channel<"wifi">;
	readonly #onChanged: (property: string) => void;
	#scan: ScanOptions | undefined;

	constructor(options: { onChanged: (property: string) => void }) {
		this.#onChanged = options.onChanged;
		this.#channel = new Channel(
			"wifi",
			{},
			{
				scanned: (found) => this.#onScanned(found),
				connection: (joined) => this.#onConnection(joined),
			},
		);
	}

	configure(options: { hostname: string }): void {
		this.#channel.post("configure", options);
	}

	connect(options: { SSID: string; password?: string }): void {
		if (this.connection === 300) throw new Error("already connecting");
		this.connection = 300;
		this.reason = undefined;
		this.#channel.post("connect", options);
	}

	scan(options: ScanOptions): void {
		if (this.connection === 300 || this.#scan) throw new Error("busy");
		this.#scan = options;
		this.#channel.post("scan");
	}

	/** Disconnects without a callback, like the SDK. */
	disconnect(): void {
		this.connection = 200;
		this.#set(undefined);
		this.#channel.post("disconnect");
	}

	close(): void {
		this.#channel.close();
	}

	#onScanned(found: readonly FoundNetwork[]): void {
		const scan = this.#scan;
		this.#scan = undefined;
		for (const network of found) scan?.onFound(network);
		scan?.onComplete();
	}

	#onConnection(joined: JoinedNetwork | WiFiReason): void {
		const isJoined = typeof joined === "object";
		this.#set(isJoined ? joined : undefined);
		this.reason = isJoined ? undefined : joined;
		const connection = isJoined ? 500 : 200;
		// Like the SDK, does not report changes of RSSI.
		if (connection === this.connection) return;
		this.connection = connection;
		this.#onChanged("connection");
	}

	#set({ address, SSID, BSSID, RSSI, channel }: Partial<JoinedNetwork> = {}): void {
		Object.assign(this, { address, SSID, BSSID, RSSI, channel });
	}
}

export function resolve(host: string, onResolved: (address: string | undefined) => void): void {
	const resolved = (address: string | null) => {
		channel.close();
		onResolved(address ?? undefined);
	};
	const channel: Channel<"dns"> = new Channel("dns", { host }, { resolved });
}

/** ECMA-419 `embedded:io/socket/udp`. */
export class UdpSocket implements DatagramSocket {
	readonly #arrived: ArrayBuffer[] = [];
	readonly #channel: Channel<"udp">;

	constructor({ onReadable }: DatagramOptions) {
		const datagram = (_: null, bytes: Uint8Array) => onReadable(this.#arrived.push(bytes.slice().buffer));
		this.#channel = new Channel("udp", {}, { datagram });
	}

	read(): ArrayBuffer | undefined {
		return this.#arrived.shift();
	}

	write(bytes: Uint8Array, address: string, port: number): void {
		this.#channel.post("write", { address, port }, bytes);
	}

	close(): void {
		this.#channel.close();
	}
}

/** Time query, answered by Node's clock. */
export class TimeQuery implements TimeQueryInterface {
	readonly #channel: Channel<"time">;

	constructor({ server, onTime }: TimeQueryOptions) {
		const time = (seconds: number | null) => {
			this.#channel.close();
			onTime(seconds ?? undefined);
		};
		this.#channel = new Channel("time", { server }, { time });
	}

	close(): void {
		this.#channel.close();
	}
}
