/** Devices by room, and the quiet hours of a room. */

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

/** Number of devices above which an action requires a confirmation. */
export const fewDevices = 20;

/** Whether a command to these devices requires a confirmation: they are many, or not all in one room. */
export function isFarReaching(entries: readonly Entry[]): boolean {
	return entries.length > fewDevices || new Set(entries.map(({ session }) => session.room)).size > 1;
}

/** " in Mainz", " in Mainz, Berlin and elsewhere", " in 3 rooms"; empty if no device has a room. */
export function placeText(entries: readonly Entry[]): string {
	const rooms = new Set(entries.map(({ session }) => session.room));
	const isElsewhere = rooms.delete(undefined);
	if (rooms.size === 0) return "";
	const names = rooms.size > 2 ? plural(rooms.size, "room") : [...rooms].join(isElsewhere ? ", " : " and ");
	return ` in ${names}${isElsewhere ? " and elsewhere" : ""}`;
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

/** Effective quiet hours of a room: its own, or those of all devices. @param room undefined for devices without one */
export function quietOf(all: readonly QuietHours[], room: string | undefined): QuietHours | undefined {
	return (
		all.find(({ targets }) => room !== undefined && targets.room === room) ??
		all.find(({ targets }) => targets.all)
	);
}
