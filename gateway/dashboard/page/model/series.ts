/**
 * The last 24 hours of one device, as columns for a plot: the gateway's steps of 5 minutes, and after them each report that
 * came here since. Nothing is kept of devices that no one looks at.
 */

import type { StateReport } from "../../../../device/protocol/messages.js";
import type { Extremes, Past } from "./responses.js";

/** A gap this long is drawn as one. */
const gapMs = 20_000;
/** An upper bound: the gateway's history replaces these rows every few minutes. */
const rowsAtMost = 2_000;

export type Column = (number | null)[];
type Row = readonly [rssi: Range, heap: number | null, light: Range];
type Range = readonly [least: number | null, most: number | null];

const nothing: Row = [[null, null], null, [null, null]];

export class Series {
	/** Seconds since 1970 by this page's clock, ascending. */
	readonly times: number[] = [];
	/** dBm. */
	readonly rssi = { min: [] as Column, max: [] as Column };
	/** Free, in KiB: of a step the least. */
	readonly heap: Column = [];
	readonly light = { min: [] as Column, max: [] as Column };
	/** Changes with every row. */
	version = 0;
	#heardAt: number | undefined;

	/** Puts the gateway's past in the place of everything. @param now milliseconds since 1970, when it was read */
	setPast(past: Past, now: number): void {
		for (const column of this.#columns()) column.length = 0;
		const start = startOf(past, now);
		const { rssi, heap, light, stepSeconds, presence } = past;
		for (const [step, share] of presence.entries()) {
			if (share === null) continue;
			const free = heap[step] ?? null;
			this.#push(Math.min(start + (step + 0.5) * stepSeconds, now / 1000), [
				rangeOf(rssi, step),
				free === null ? null : free / 1024,
				light ? rangeOf(light, step) : [null, null],
			]);
		}
		this.#heardAt = this.rssi.max.at(-1) === null ? undefined : now;
	}

	/** @param now milliseconds since 1970 */
	add({ network, health, peripherals }: StateReport, now: number): void {
		if (this.#heardAt !== undefined && now - this.#heardAt > gapMs)
			this.#push(this.#heardAt / 1000 + 1, nothing);
		this.#heardAt = now;
		const { wifi_rssi: rssi } = network;
		const light = peripherals.ambient_light ?? null;
		this.#push(now / 1000, [[rssi, rssi], health.free_heap_bytes / 1024, [light, light]]);
		if (this.times.length > rowsAtMost) for (const column of this.#columns()) column.shift();
	}

	/** Of the row that is nearest to a time. @param time as in `times`. @returns undefined: there is none */
	nearest(time: number): number | undefined {
		const { times } = this;
		if (times.length === 0) return undefined;
		const after = times.findIndex((one) => one >= time);
		if (after <= 0) return after === 0 ? 0 : times.length - 1;
		const isBefore = time - (times[after - 1] ?? 0) < (times[after] ?? 0) - time;
		return isBefore ? after - 1 : after;
	}

	#push(time: number, [rssi, heap, light]: Row): void {
		this.version += 1;
		// Two that came at once; a plot's times must ascend.
		this.times.push(Math.max(time, (this.times.at(-1) ?? 0) + 0.001));
		this.rssi.min.push(rssi[0]);
		this.rssi.max.push(rssi[1]);
		this.heap.push(heap);
		this.light.min.push(light[0]);
		this.light.max.push(light[1]);
	}

	#columns(): readonly (number | null)[][] {
		const { times, rssi, heap, light } = this;
		return [times, rssi.min, rssi.max, heap, light.min, light.max];
	}
}

/**
 * When a past begins by this page's clock. The clocks may differ: "now" lies in the last step by either.
 *
 * @param now milliseconds since 1970
 * @returns seconds since 1970
 */
export function startOf({ from, stepSeconds, presence }: Past, now: number): number {
	const start = Date.parse(from) / 1000;
	const lastStep = start + (presence.length - 1) * stepSeconds;
	const early = Math.min(0, now / 1000 - lastStep);
	const late = Math.max(0, now / 1000 - lastStep - stepSeconds);
	return start + early + late;
}

function rangeOf({ min, max }: Extremes, step: number): Range {
	return [min[step] ?? null, max[step] ?? null];
}
