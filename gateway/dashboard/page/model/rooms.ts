/** The fleet by rooms, and what is said of a room as a whole. */

import type { Entry } from "../../../api/client/fleet.js";
import { inOrder, isWrong } from "./filter.js";

export interface Room {
	/** Undefined: its devices are in no room. */
	readonly name: string | undefined;
	readonly entries: readonly Entry[];
	/** Those that are connected. */
	readonly here: readonly Entry[];
	/** The connected device with the weakest signal. */
	readonly weakest: Entry | undefined;
	/** The quietest and the loudest of the connected devices; undefined: none has reported. */
	readonly volumes: readonly [least: number, most: number] | undefined;
	/** How many devices have something wrong. */
	readonly wrong: number;
}

/** In natural order of their names; the devices without a room come last. */
export function roomsIn(entries: readonly Entry[]): readonly Room[] {
	return [...grouped(entries, ({ session }) => session.room)]
		.sort(([a], [b]) => Number(a === undefined) - Number(b === undefined) || inOrder(a ?? "", b ?? ""))
		.map(([name, inRoom]) => roomOf(name, inRoom));
}

export function grouped<K, V>(values: readonly V[], keyOf: (value: V) => K): Map<K, V[]> {
	const groups = new Map<K, V[]>();
	for (const value of values) {
		const group = groups.get(keyOf(value)) ?? [];
		group.push(value);
		groups.set(keyOf(value), group);
	}
	return groups;
}

export function roomOf(name: string | undefined, entries: readonly Entry[]): Room {
	const here = entries.filter(({ session }) => session.connected);
	const [first, ...others] = here.filter(({ vitals }) => vitals.rssi !== null);
	const volumes = here.flatMap(({ vitals }) => vitals.volume ?? []);
	return {
		name,
		entries,
		here,
		weakest: first && others.reduce((a, b) => ((b.vitals.rssi ?? 0) < (a.vitals.rssi ?? 0) ? b : a), first),
		volumes:
			volumes.length === 0
				? undefined
				: [volumes.reduce((a, b) => Math.min(a, b)), volumes.reduce((a, b) => Math.max(a, b))],
		wrong: entries.filter(isWrong).length,
	};
}
