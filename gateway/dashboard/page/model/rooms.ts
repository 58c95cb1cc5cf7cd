/** Devices by room, and the quiet hours of a room. */

import type { Entry } from "../../../api/client/fleet.js";
import { clock, plural } from "../../../api/client/words.js";
import type { QuietHours } from "../../../api/quiet-hours.js";
import type { Targets } from "../../../api/targets.js";
import { naturalOrder } from "./filter.js";
import { tagMatcher } from "./tags.js";

export interface Room {
	/** Undefined for the devices without a room. */
	readonly name: string | undefined;
	readonly entries: readonly Entry[];
}

/** Names of all rooms, in natural order. */
export function roomsOf(entries: readonly Entry[]): readonly string[] {
	return [...new Set(entries.flatMap(({ session }) => session.room ?? []))].sort(naturalOrder);
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

/** Effective quiet hours: those of a device, of its room, or of all devices. @param room undefined for devices without one */
export function quietOf(all: readonly QuietHours[], room?: string, device?: string): QuietHours | undefined {
	return (
		all.find(({ targets }) => device !== undefined && targets.device === device) ??
		all.find(({ targets }) => room !== undefined && targets.room === room) ??
		all.find(({ targets }) => targets.all)
	);
}

/** "At most 20 until 07:00", "Quiet until 07:00"; empty if not active. */
export function quietState({ holdsUntil: until = null, volume, zone }: Partial<QuietHours> = {}): string {
	if (until === null) return "";
	const limit = volume === undefined ? "Quiet" : `At most ${volume}`;
	return `${limit} until ${clock(Date.parse(until) / 1000, zone)}`;
}

/** Highest volume that current quiet hours permit on any of the devices; undefined without a limit on one of them. */
export function quietLimit(all: readonly QuietHours[], entries: readonly Entry[]): number | undefined {
	const limits = entries.map(({ key, session }) => {
		const { holdsUntil = null, volume = 100 } = quietOf(all, session.room, key) ?? {};
		return holdsUntil === null ? 100 : volume;
	});
	const highest = Math.max(0, ...limits);
	return highest < 100 && limits.length > 0 ? highest : undefined;
}
