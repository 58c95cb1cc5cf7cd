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

/** 0 to 100, by device id. */
export type Volumes = Readonly<Record<string, number>>;

/** The connected devices of a room, shown or not. */
export function volumesIn(name: string | undefined, entries: readonly Entry[]): Volumes {
	const here = entries.filter(({ session }) => session.connected && session.room === name);
	return Object.fromEntries(
		here.flatMap(({ key, vitals: { volume } }) => (volume === null ? [] : [[key, volume]])),
	);
}

/**
 * Moves the volumes of a room by the same proportion, as groups of speakers do; from 0, as after muting, each comes back
 * to its own.
 *
 * @param moves what this returned the last time: the volumes from which it was moved, then those that were set
 * @param now the volumes that the devices report
 * @param to of the loudest; undefined: as loud as before it was muted, or 50 where that is not known
 * @returns the moves, of which the last is what to set now
 */
export function moveVolumes(
	moves: readonly Volumes[],
	now: Volumes,
	to?: number,
): readonly [from: Volumes, ...set: Volumes[]] {
	const isMoved = Object.entries(now).every(([key, volume]) => moves.some((each) => each[key] === volume));
	const [from = now, ...set] = isMoved ? moves : [];
	const mostOf = (volumes: Volumes) => Math.max(0, ...Object.keys(now).map((key) => volumes[key] ?? 0));
	const most = mostOf(from);
	const loudest =
		to ??
		[from, ...set]
			.map(mostOf)
			.filter((each) => each > 0)
			.at(-1) ??
		50;
	const moved = (volume: number) =>
		most === 0 ? loudest : Math.max(Math.min(1, volume, loudest), Math.round((volume * loudest) / most));
	const next = Object.fromEntries(Object.keys(now).map((key) => [key, moved(from[key] ?? 0)]));
	// Reports of the last ones may be on their way.
	return [from, ...set.slice(-2), next];
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
