/** QEMU's Ethernet with the Wi-Fi interface. Network name and signal strength are made up. */

import Ethernet from "embedded:network/interface/ethernet";
import Timer from "timer";
import type { WiFi } from "../../device/host.js";

/** ECMA-419 connection states. */
const down = 200;
const usable = 500;
const networkName = "qemu";
/** Signal strength in dBm; 0 would mean unknown. */
const signalStrength = -1;

export interface WiredNetworkOptions {
	readonly onChanged: (property: string) => void;
}

export class WiredNetwork implements WiFi {
	readonly #onChanged: WiredNetworkOptions["onChanged"];
	/** Created for each connection: after disconnect() the SDK's object never becomes usable again while the address stays the same. */
	#ethernet: Ethernet | undefined;
	#timer: Timer | undefined;
	#hostname: string | undefined;

	constructor(options: WiredNetworkOptions) {
		this.#onChanged = options.onChanged;
	}

	get connection(): number {
		return this.#ethernet?.connection ?? down;
	}

	get address(): string | undefined {
		return this.#isUsable ? this.#ethernet?.address : undefined;
	}

	get SSID(): string | undefined {
		return this.#isUsable ? networkName : undefined;
	}

	get RSSI(): number | undefined {
		return this.#isUsable ? signalStrength : undefined;
	}

	configure({ hostname }: { hostname: string }): void {
		this.#hostname = hostname;
	}

	/** Connects; ignores name and password. */
	connect(): void {
		if (this.#ethernet) throw new Error("already connecting");
		this.#ethernet = new Ethernet({ onChanged: (property) => this.#onChanged(property) });
		if (this.#hostname !== undefined) this.#ethernet.configure({ hostname: this.#hostname });
		// If the address is already known, nothing changes and the SDK makes no callback.
		if (this.#isUsable) this.#timer = Timer.set(() => this.#onChanged("connection"));
		else this.#ethernet.connect();
	}

	disconnect(): void {
		Timer.clear(this.#timer);
		this.#timer = undefined;
		this.#ethernet?.close();
		this.#ethernet = undefined;
	}

	close(): void {
		this.disconnect();
	}

	get #isUsable(): boolean {
		return this.connection >= usable;
	}
}
