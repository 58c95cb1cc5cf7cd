/** The fleet by rooms, and the volume and the quiet hours of a room. */

import { entryOf } from "../../../../device/protocol/schema.js";
import type { Entry } from "../../../api/client/fleet.js";
import type { QuietHours } from "../../../api/quiet-hours.js";
import type { Targets } from "../../../api/targets.js";
import { inOrder } from "./filter.js";
import { tagMatcher } from "./tags.js";

export interface Room {
	/** Undefined: its devices are in no room. */
	readonly name: string | undefined;
	readonly entries: readonly Entry[];
}

/** In natural order of their names; the devices without a room come last. */
export function roomsIn(entries: readonly Entry[]): readonly Room[] {
	return [...grouped(entries, ({ session }) => session.room)]
		.sort(([a], [b]) => Number(a === undefined) - Number(b === undefined) || inOrder(a ?? "", b ?? ""))
		.map(([name, inRoom]) => ({ name, entries: inRoom }));
}

/** The devices that something is asked for. */
export function devicesIn(
	{ all, room, tags, devices = [] }: Targets,
	entries: readonly Entry[],
): readonly Entry[] {
	if (tags !== undefined) return entries.filter(tagMatcher(tags));
	const isMeant = ({ key, session }: Entry) =>
		room === undefined ? devices.includes(key) : session.room === room;
	return all ? entries : entries.filter(isMeant);
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

/** Of the connected devices that have reported. */
export function volumesOf(entries: readonly Entry[]): Volumes {
	return Object.fromEntries(
		entries.flatMap(({ key, session, vitals: { volume } }) =>
			session.connected && volume !== null ? [[key, volume]] : [],
		),
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
	const mostOf = (volumes: Volumes) =>
		Math.max(0, ...Object.keys(now).map((key) => entryOf(volumes, key) ?? 0));
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
	const next = Object.fromEntries(Object.keys(now).map((key) => [key, moved(entryOf(from, key) ?? 0)]));
	// Reports of the last ones may be on their way.
	return [from, ...set.slice(-2), next];
}

/** The quiet hours that count for a room: its own, or else those of all devices. @param room undefined: the devices without one */
export function quietOf(all: readonly QuietHours[], room: string | undefined): QuietHours | undefined {
	return (
		all.find(({ targets }) => room !== undefined && targets.room === room) ??
		all.find(({ targets }) => targets.all)
	);
}
