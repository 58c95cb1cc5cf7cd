/** Devices by room, and the volume and quiet hours of a room. */

import { entryOf } from "../../../../device/protocol/schema.js";
import type { Entry } from "../../../api/client/fleet.js";
import { plural } from "../../../api/client/words.js";
import type { QuietHours } from "../../../api/quiet-hours.js";
import type { Targets } from "../../../api/targets.js";
import { naturalOrder } from "./filter.js";
import { tagMatcher } from "./tags.js";

export interface Room {
	/** Undefined for the devices without a room. */
	readonly name: string | undefined;
	readonly entries: readonly Entry[];
}

/** Groups devices by room, in natural order; those without a room come last. */
export function roomsIn(entries: readonly Entry[]): readonly Room[] {
	return [...grouped(entries, ({ session }) => session.room)]
		.sort(([a], [b]) => Number(a === undefined) - Number(b === undefined) || naturalOrder(a ?? "", b ?? ""))
		.map(([name, inRoom]) => ({ name, entries: inRoom }));
}

/** " in Mainz", " in Mainz and Berlin", " in 3 rooms"; empty if a device has no room. */
export function placeText(entries: readonly Entry[]): string {
	const rooms = [...new Set(entries.map(({ session }) => session.room))];
	if (rooms.length === 0 || rooms.includes(undefined)) return "";
	return ` in ${rooms.length > 2 ? plural(rooms.length, "room") : rooms.join(" and ")}`;
}

/** Devices that match a target. */
export function devicesIn(
	{ all, room, tags, devices = [] }: Targets,
	entries: readonly Entry[],
): readonly Entry[] {
	if (tags !== undefined) return entries.filter(tagMatcher(tags));
	const isTargeted = ({ key, session }: Entry) =>
		room === undefined ? devices.includes(key) : session.room === room;
	return all ? entries : entries.filter(isTargeted);
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

/** Volumes from 0 to 100 by device id. */
export type Volumes = Readonly<Record<string, number>>;

/** Volumes of the connected devices that have reported. */
export function volumesOf(entries: readonly Entry[]): Volumes {
	return Object.fromEntries(
		entries.flatMap(({ key, session, vitals: { volume } }) =>
			session.connected && volume !== null ? [[key, volume]] : [],
		),
	);
}

/**
 * Scales the volumes of a room proportionally. After mute, each device returns to its own volume.
 *
 * @param moves previous result: the initial volumes, then those that were set
 * @param now reported volumes
 * @param to volume of the loudest device; undefined restores the volume before mute, or 50 if unknown
 * @returns the moves; the last one is to be set now
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
	// Reports of the previous moves may still arrive.
	return [from, ...set.slice(-2), next];
}

/** Effective quiet hours of a room: its own, or those of all devices. @param room undefined for devices without one */
export function quietOf(all: readonly QuietHours[], room: string | undefined): QuietHours | undefined {
	return (
		all.find(({ targets }) => room !== undefined && targets.room === room) ??
		all.find(({ targets }) => targets.all)
	);
}
