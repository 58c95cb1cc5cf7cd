/** Plot data of a device: the gateway's history of the last 24 hours in steps of 5 minutes, the last of which is the current one. */

import type { StateReport } from "../../../../device/protocol/messages.js";
import type { Past } from "../../../api/device.js";

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

/** Steps with a known presence. @param now time of loading, in seconds since 1970 */
export function rowsOf(
	{ from, stepSeconds, presence, heap, rssi, light }: Past,
	now: number,
): readonly Row[] {
	const start = Date.parse(from) / 1000;
	const rangeOf = (least: number | null = null, most: number | null = null): Range =>
		least === null || most === null ? null : [least, most];
	return presence.flatMap((share, step) => {
		const bytes = heap[step] ?? null;
		const free = bytes === null ? null : bytes / 1024;
		const row = {
			time: Math.min(start + (step + 0.5) * stepSeconds, now),
			rssi: rangeOf(rssi.min[step], rssi.max[step]),
			heap: rangeOf(free, free),
			light: rangeOf(light?.min[step], light?.max[step]),
		};
		return share === null ? [] : row;
	});
}

/** Row nearest to a time in seconds since 1970; undefined without rows. */
export function nearest(rows: readonly Row[], time: number): Row | undefined {
	const distance = (row: Row) => Math.abs(row.time - time);
	const [first, ...others] = rows;
	return first && others.reduce((best, row) => (distance(row) < distance(best) ? row : best), first);
}

/** Plotted quantities of a report. */
export function quantitiesOf({ network, health, peripherals }: StateReport): Quantities {
	const { wifi_rssi: rssi } = network;
	const heap = health.free_heap_bytes / 1024;
	const light = peripherals.ambient_light;
	return { rssi: [rssi, rssi], heap: [heap, heap], light: light === undefined ? null : [light, light] };
}
