/** System information of the simulator; values that it cannot measure are 0. */

import Debug from "debug";
import Instrumentation from "instrumentation";
import config from "mc/config";
import type { Panel, PanelOptions } from "simulator/panel";
import Time from "time";
import type { System } from "../../../device/host.js";

/** Size of a slot on a board and on a desktop; the number of slots is the same. */
const slotBytes = 16;
const desktopSlotBytes = 32;

export class SimulatedSystem implements System {
	readonly #panel: Panel;
	#lastTicks = Time.ticks;
	#uptimeMs = 0;
	#minFreeHeapBytes = Number.POSITIVE_INFINITY;
	readonly macAddress: string;
	readonly resetReason: string;
	readonly idfVersion = "none (Moddable simulator)";
	readonly firmwareVersion = String(config.version ?? "0.0.0");
	/** The simulator has no firmware descriptor. */
	readonly securityVersion = 0;
	readonly imageId = undefined;
	/** Unused, because the desktop's clock is set. */
	readonly buildTime = 0;
	readonly cpuFrequencyMHz = 0;
	readonly flashSizeMB = 0;
	readonly psramSizeMB = 0;

	constructor({ panel, boot }: PanelOptions) {
		this.#panel = panel;
		this.macAddress = boot.macAddress;
		this.resetReason = boot.resetReason;
	}

	/** Monotonic, although the desktop's ticks follow its wall clock, which may be set back. */
	get uptimeMs(): number {
		const ticks = Time.ticks;
		this.#uptimeMs += Math.max(0, Time.delta(this.#lastTicks, ticks));
		this.#lastTicks = ticks;
		return this.#uptimeMs;
	}

	/** Free bytes of the XS heap after a garbage collection, with the slot size of a board. */
	get freeHeapBytes(): number {
		Debug.gc();
		const chunks = Number(config.chunkBytes) - usedBytes("XS Chunk Heap Used");
		const slots = Number(config.slots) - usedBytes("XS Slot Heap Used") / desktopSlotBytes;
		const free = chunks + slots * slotBytes;
		this.#minFreeHeapBytes = Math.min(this.#minFreeHeapBytes, free);
		return free;
	}

	/** Lowest value read so far. */
	get minFreeHeapBytes(): number {
		return Math.min(this.#minFreeHeapBytes, this.freeHeapBytes);
	}

	restart(): void {
		this.#panel.post({ restart: true });
	}

	print(text: string): void {
		trace(text);
	}

	/** No-op, because the desktop's clock is set. */
	setTime(_seconds: number): void {}
}

function usedBytes(name: "XS Chunk Heap Used" | "XS Slot Heap Used"): number {
	return Instrumentation.get(Instrumentation.map(name)) ?? 0;
}
