/** Devices, rooms, views and actions that the palette finds. An action is a verb and a target, such as "mute kitchen" or "timer 6". */

import arrow from "lucide-static/icons/arrow-right.svg";
import up from "lucide-static/icons/circle-arrow-up.svg";
import door from "lucide-static/icons/door-open.svg";
import lamp from "lucide-static/icons/lightbulb.svg";
import megaphone from "lucide-static/icons/megaphone.svg";
import speaker from "lucide-static/icons/speaker.svg";
import timer from "lucide-static/icons/timer.svg";
import volume from "lucide-static/icons/volume-2.svg";
import muted from "lucide-static/icons/volume-x.svg";
import type { ComponentProps } from "preact";
import { useCallback } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { plural } from "../../../api/client/words.js";
import type { Targets } from "../../../api/targets.js";
import { deviceAddress, roomAddress, viewAddress } from "../app/addresses.js";
import type { App } from "../app/app.js";
import { request } from "../app/gateway.js";
import { useMayChange, useTopic } from "../app/hooks.js";
import { muteCommand, volumeOf } from "../app/mute.js";
import { folded, nameOf, noQuery, select } from "../model/filter.js";
import { dueUpdates } from "../model/outdated.js";
import { fewDevices, grouped, isFarReaching, placeText, roomsIn } from "../model/rooms.js";
import type { Icon } from "../parts/icon.js";

export interface Item {
	readonly icon: ComponentProps<typeof Icon>["of"];
	readonly text: string;
	/** Type, or the room of a device. */
	readonly hint: string;
	/** Consequence or details, shown while the item is active. */
	readonly preview?: string;
	/** Confirmation before an action. */
	readonly question?: false | { readonly title: string; readonly verb: string };
	/** Address of a view, or an action. */
	readonly open: string | (() => Promise<unknown>);
}

/** Devices that an action applies to. */
interface Target {
	/** "all devices", or the name of a room or a device. */
	readonly name: string;
	readonly targets: Targets;
	readonly entries: readonly Entry[];
}

const maxShown = 12;
const maxDevices = 3;
const usualMinutes = [5, 10, 15, 30];
const views: readonly Item[] = (
	[
		["Home", "#/"],
		["Announce", "#/announce"],
		["Schedules", "#/schedules"],
		["Issues", "#/issues"],
		["Firmware", "#/firmware"],
		["Add device", "#/add"],
		["Settings", "#/settings"],
		["Wi-Fi", "#/settings/wifi"],
		["People", "#/settings/people"],
		["Audit log", "#/settings/changes"],
	] as const
).map(([text, open]) => ({ icon: arrow, text, hint: "View", open }));

/** Returns a function that finds items by words. */
export function usePaletteItems(): (query: string) => readonly Item[] {
	const app = useTopic("list", "firmware", "quiet");
	const { listVersion } = app.fleet;
	const mayCommand = useMayChange("set_volume");
	const mayUpdate = useMayChange("trigger_ota");
	return useCallback(
		(query) => {
			const words = folded(query).split(/\s+/).filter(Boolean);
			const entries = app.fleet.all();
			const matches = ({ text }: Pick<Item, "text">) => isMatch(text, words);
			const rooms = namedRooms(entries).map(({ name, entries: { length } }): Item => {
				const preview = plural(length, "device");
				return { icon: door, text: name, hint: "Room", preview, open: roomAddress(name) };
			});
			const devices = query.trim() === "" ? [] : select(entries, { ...noQuery, search: query });
			const [verb = "", ...rest] = words;
			const named = verbs.filter(({ name }) => verb.length > 1 && name.startsWith(verb));
			const actions = named.length > 0 ? named : words.length > 0 ? verbs : [];
			const sought = named.length > 0 ? rest : words;
			const targets = actions.length > 0 ? targetsOf(entries, sought) : [];
			return [
				...[...rooms, ...views].filter(matches),
				...devices.slice(0, maxShown).map(deviceItem),
				...actions
					.filter(({ isManagement }) => (isManagement ? mayUpdate : mayCommand))
					.flatMap(({ items }) => items(app, targets, sought)),
			].slice(0, maxShown);
		},
		[app, listVersion, mayCommand, mayUpdate],
	);
}

function deviceItem(entry: Entry): Item {
	const { key, session } = entry;
	const preview = [key, session.model, session.firmwareVersion].filter(Boolean).join(" · ");
	return {
		icon: speaker,
		text: nameOf(entry),
		hint: session.room ?? "Device",
		preview,
		open: deviceAddress(key),
	};
}

interface Verb {
	readonly name: string;
	/** Requires the role monitor. */
	readonly isManagement?: boolean;
	/** @param words after the verb */
	readonly items: (app: App, targets: readonly Target[], words: readonly string[]) => readonly Item[];
}

const verbs: readonly Verb[] = [
	{ name: "mute", items: (app, targets) => muteItems(app, targets, true) },
	{ name: "unmute", items: (app, targets) => muteItems(app, targets, false) },
	{
		name: "announce",
		items: (_, found) =>
			found.map(({ name, targets, entries }) => ({
				...{ icon: megaphone, text: `Announce ${targets.all ? "everywhere" : `in ${name}`}`, hint: "Action" },
				preview: `Opens the announcement for ${scopeText(entries)}`,
				open: viewAddress("announce", targets),
			})),
	},
	{ name: "timer", items: timerItems },
	{ name: "update", isManagement: true, items: updateItems },
	{
		name: "flash",
		items: (app, found) =>
			found.flatMap(({ name, targets, entries: [entry] }) =>
				targets.devices && entry?.session.features.includes("identify")
					? {
							...{ icon: lamp, text: `Flash light of ${name}`, hint: "Action" },
							open: async () => {
								const { reason } = await app.sendCommand(entry.key, { command: "identify" });
								if (reason !== null) throw new Error(reason);
							},
						}
					: [],
			),
	},
];

function muteItems(app: App, found: readonly Target[], toMuted: boolean): readonly Item[] {
	return found.flatMap(({ name, entries }) => {
		const changed = entries.filter(
			(entry) => entry.session.connected && volumeOf(entry)?.isMuted === !toMuted,
		);
		if (changed.length === 0) return [];
		const verb = toMuted ? "Mute" : "Unmute";
		const open = async () => {
			const commands = changed.flatMap((entry) => {
				const now = volumeOf(entry);
				return now ? { entry, ask: muteCommand(now, toMuted) } : [];
			});
			// Older firmware is sent volumes.
			for (const [, some] of grouped(commands, ({ ask }) => JSON.stringify(ask)))
				if (some[0])
					await app.commandDevices(
						some[0].ask,
						some.map(({ entry }) => entry),
					);
		};
		return {
			...{ icon: toMuted ? muted : volume, text: `${verb} ${name}`, hint: "Action", open },
			preview: `${verb}s ${scopeText(changed)}`,
			question: isFarReaching(changed) && { title: `${verb} ${scopeText(changed)}?`, verb },
		};
	});
}

/** @param words minutes and a target; by default the usual ones, and all devices */
function timerItems(app: App, _: readonly Target[], [minutes = "", ...words]: readonly string[]) {
	const [target] = targetsOf(app.fleet.all(), words);
	const counts = minutes === "" ? usualMinutes : /^[1-9]\d{0,3}$/.test(minutes) ? [Number(minutes)] : [];
	return target && app.quietHours.value ? counts.map((count) => timerItem(app, count, target)) : [];
}

function timerItem(app: App, minutes: number, { name, targets, entries }: Target): Item {
	const text = `${minutes}-minute timer${targets.all ? "" : ` in ${name}`}`;
	const payload = { command: "play_audio", value: "attention" } as const;
	const open = async () => {
		const body = { at: { in: minutes * 60 }, do: { command: { targets, payload } } };
		const { id } = await request("POST /api/schedules", { body });
		const remove = () => void request("DELETE /api/schedules/:id", { params: { id } });
		app.toasts.show(text, `${text} started`, remove);
	};
	return {
		...{ icon: timer, text, hint: "Action", preview: `Then chimes on ${scopeText(entries)}`, open },
		question: entries.length > fewDevices && {
			title: `${text} on ${scopeText(entries)}?`,
			verb: "Start timer",
		},
	};
}

function updateItems(app: App, found: readonly Target[]): readonly Item[] {
	return found.flatMap(({ name, targets, entries }) =>
		dueUpdates(entries, app.firmware.findUpdate).map(({ firmware: { selector }, keys }): Item => {
			const due = entries.filter(({ key }) => keys.includes(key));
			const [key = ""] = keys;
			return {
				...{ icon: up, text: `Update ${name} to ${selector}`, hint: "Action" },
				preview: `Opens the update of ${scopeText(due)}`,
				open: targets.devices ? deviceAddress(key, "firmware") : viewAddress("firmware", { devices: keys }),
			};
		}),
	);
}

/** Targets whose name contains the words; without words, all devices and each room. */
function targetsOf(all: readonly Entry[], words: readonly string[]): readonly Target[] {
	const everything = { name: "all devices", targets: { all: true }, entries: all };
	const rooms = namedRooms(all).map((room) => ({ ...room, targets: { room: room.name } }));
	if (words.length === 0) return [everything, ...rooms];
	const devices = select(all, { ...noQuery, search: words.join(" ") }).slice(0, maxDevices);
	return [
		...[everything, ...rooms].filter(({ name }) => isMatch(name, words)),
		...devices.map((entry) => ({ name: nameOf(entry), targets: { devices: [entry.key] }, entries: [entry] })),
	];
}

function namedRooms(entries: readonly Entry[]) {
	return roomsIn(entries).flatMap(({ name, entries }) => (name === undefined ? [] : { name, entries }));
}

function isMatch(text: string, words: readonly string[]): boolean {
	return words.every((word) => folded(text).includes(word));
}

/** "Counter", "4 devices in Kitchen and Hall" */
function scopeText(entries: readonly Entry[]): string {
	const [entry] = entries;
	return entries.length === 1 && entry
		? nameOf(entry)
		: `${plural(entries.length, "device")}${placeText(entries)}`;
}
