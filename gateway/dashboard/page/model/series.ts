/** The last hour of one device's reports, as columns for a plot. Nothing is kept of devices that nobody looks at. */

import type { StateReport } from "../../../../device/protocol/messages.js";

const hourMs = 60 * 60 * 1000;
/** A gap this long is drawn as one. */
const gapMs = 20_000;

type Column = (number | null)[];

export class Series {
	/** Seconds since 1970, as uPlot takes them. */
	readonly times: number[] = [];
	readonly rssi: Column = [];
	/** In KiB, as is lowestHeap. */
	readonly freeHeap: Column = [];
	readonly lowestHeap: Column = [];
	readonly light: Column = [];

	/** @param now milliseconds since 1970 */
	add({ network, health, peripherals }: StateReport, now: number): void {
		const last = this.times.at(-1);
		if (last !== undefined && now - last * 1000 > gapMs) this.#push(last + 1, null, null, null, null);
		this.#push(
			now / 1000,
			network.wifi_rssi,
			health.free_heap_bytes / 1024,
			health.min_free_heap_bytes / 1024,
			peripherals.ambient_light ?? null,
		);
		const old = this.times.findIndex((time) => time * 1000 > now - hourMs);
		if (old > 0) for (const column of this.#columns()) column.splice(0, old);
	}

	#push(...values: readonly [number, ...(number | null)[]]): void {
		const [time, rssi = null, freeHeap = null, lowestHeap = null, light = null] = values;
		this.times.push(time);
		this.rssi.push(rssi);
		this.freeHeap.push(freeHeap);
		this.lowestHeap.push(lowestHeap);
		this.light.push(light);
	}

	#columns(): readonly unknown[][] {
		return [this.times, this.rssi, this.freeHeap, this.lowestHeap, this.light];
	}
}
