/** System information of a virtual device: values of the simulated board, and actual values of its XS heap. */

import Time from "time";
import type { System as Interface } from "../../../device/host.js";
import Channel from "./channel.js";

export class System implements Interface {
	declare readonly macAddress: string;
	declare readonly idfVersion: string;
	declare readonly firmwareVersion: string;
	declare readonly securityVersion: number;
	declare readonly imageId: string;
	declare readonly buildTime: number;
	declare readonly cpuFrequencyMHz: number;
	declare readonly flashSizeMB: number;
	declare readonly psramSizeMB: number;
	declare readonly resetReason: string;
	#minFreeHeapBytes: number;

	constructor() {
		const channel = new Channel("system", {}, {});
		Object.assign(this, channel.call("facts"));
		channel.close();
		this.#minFreeHeapBytes = natives.heap();
	}

	get uptimeMs(): number {
		return Math.floor(natives.now());
	}

	get freeHeapBytes(): number {
		const free = natives.heap();
		this.#minFreeHeapBytes = Math.min(this.#minFreeHeapBytes, free);
		return free;
	}

	get minFreeHeapBytes(): number {
		return Math.min(this.#minFreeHeapBytes, this.freeHeapBytes);
	}

	restart(): void {
		natives.exit("restart");
	}

	print(text: string): void {
		trace(text);
	}

	setTime(seconds: number): void {
		Time.set(seconds);
	}
}
