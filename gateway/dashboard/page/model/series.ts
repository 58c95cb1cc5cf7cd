/** Plot data of the last 24 hours of a device: the gateway's history in steps of 5 minutes, followed by each received report. */

import type { StateReport } from "../../../../device/protocol/messages.js";
import type { Past } from "../../../api/device.js";

/** Silence after which the plot has a gap. */
const gapMs = 20_000;
/** Maximum number of rows. The gateway's history replaces them every few minutes. */
const maxRows = 2_000;

/** Null if nothing was reported. */
export type Range = readonly [least: number, most: number] | null;

export interface Quantities {
	/** Signal in dBm. */
	readonly rssi: Range;
	/** Free memory in KiB; the minimum of each step. */
	readonly heap: Range;
	readonly light: Range;
}

export interface Row extends Quantities {
	/** Seconds since 1970 by the gateway's clock, ascending. */
	readonly time: number;
}

const nothing: Quantities = { rssi: null, heap: null, light: null };

export class Series {
	#rows: readonly Row[] = [];
	#heardAt: number | undefined;

	/** Rows by time; a new array after each change. */
	get rows(): readonly Row[] {
		return this.#rows;
	}

	/** Replaces all rows by the gateway's history. @param now time of loading, in milliseconds since 1970 */
	setPast(past: Past, now: number): void {
		const { from, stepSeconds, presence, heap } = past;
		const start = Date.parse(from) / 1000;
		const rangeOf = (least: number | null = null, most: number | null = null): Range =>
			least === null || most === null ? null : [least, most];
		const stepOf = (step: number): Row => {
			const bytes = heap[step] ?? null;
			const free = bytes === null ? null : bytes / 1024;
			return {
				time: Math.min(start + (step + 0.5) * stepSeconds, now / 1000),
				rssi: rangeOf(past.rssi.min[step], past.rssi.max[step]),
				heap: rangeOf(free, free),
				light: rangeOf(past.light?.min[step], past.light?.max[step]),
			};
		};
		this.#rows = presence.flatMap((share, step) => (share === null ? [] : stepOf(step)));
		this.#heardAt = this.#rows.at(-1)?.rssi === null ? undefined : now;
	}

	/** @param now milliseconds since 1970 */
	add(report: StateReport, now: number): void {
		if (this.#heardAt !== undefined && now - this.#heardAt > gapMs)
			this.#push(this.#heardAt / 1000 + 1, nothing);
		this.#heardAt = now;
		this.#push(now / 1000, quantitiesOf(report));
	}

	/** Row nearest to a time in seconds since 1970; undefined without rows. */
	nearest(time: number): Row | undefined {
		const distance = (row: Row) => Math.abs(row.time - time);
		const [first, ...others] = this.#rows;
		return first && others.reduce((best, row) => (distance(row) < distance(best) ? row : best), first);
	}

	#push(time: number, quantities: Quantities): void {
		// Times must ascend, even for two reports at once.
		const ascending = Math.max(time, (this.#rows.at(-1)?.time ?? 0) + 0.001);
		this.#rows = [...this.#rows.slice(1 - maxRows), { time: ascending, ...quantities }];
	}
}

/** Plotted quantities of a report. */
export function quantitiesOf({ network, health, peripherals }: StateReport): Quantities {
	const { wifi_rssi: rssi } = network;
	const heap = health.free_heap_bytes / 1024;
	const light = peripherals.ambient_light;
	return { rssi: [rssi, rssi], heap: [heap, heap], light: light === undefined ? null : [light, light] };
}
