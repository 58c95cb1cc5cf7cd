/** System facts of a virtual device: those of the simulated board, and the real figures of its XS heap. */

import Time from "time";
import { exit, heap, uptime } from "virtual/natives";
import type { System as Interface } from "../../../device/host.js";
import Channel, { numberField, textField } from "./channel.js";

export class System implements Interface {
	readonly macAddress: string;
	readonly idfVersion: string;
	readonly firmwareVersion: string;
	readonly securityVersion: number;
	readonly buildTime: number;
	readonly cpuFrequencyMHz: number;
	readonly flashSizeMB: number;
	readonly psramSizeMB: number;
	readonly resetReason: string;
	#minFreeHeapBytes: number;

	constructor() {
		const channel = new Channel("system", {}, () => {});
		const { detail } = channel.call("facts");
		channel.close();
		this.macAddress = textField(detail, "macAddress");
		this.idfVersion = textField(detail, "idfVersion");
		this.firmwareVersion = textField(detail, "firmwareVersion");
		this.securityVersion = numberField(detail, "securityVersion");
		this.buildTime = numberField(detail, "buildTime");
		this.cpuFrequencyMHz = numberField(detail, "cpuFrequencyMHz");
		this.flashSizeMB = numberField(detail, "flashSizeMB");
		this.psramSizeMB = numberField(detail, "psramSizeMB");
		this.resetReason = textField(detail, "resetReason");
		this.#minFreeHeapBytes = heap();
	}

	get uptimeMs(): number {
		return uptime();
	}

	get freeHeapBytes(): number {
		const free = heap();
		this.#minFreeHeapBytes = Math.min(this.#minFreeHeapBytes, free);
		return free;
	}

	get minFreeHeapBytes(): number {
		return Math.min(this.#minFreeHeapBytes, this.freeHeapBytes);
	}

	restart(): void {
		exit("restart");
	}

	print(text: string): void {
		trace(text);
	}

	setTime(seconds: number): void {
		Time.set(seconds);
	}
}
