/** Palette that finds devices, rooms, views and actions by their words, as the combobox pattern of WAI-ARIA. */

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { announceAddress, deviceAddress, roomAddress, useApp, useMayChange, useTopic } from "../app/hooks.js";
import { nameOf, noQuery, roomsOf, select } from "../model/filter.js";

interface Item {
	readonly text: string;
	/** Type, or the room of a device. */
	readonly hint: string;
	/** Address of a view, or an action. */
	readonly open: string | (() => unknown);
}

const shownAtMost = 12;
const views: readonly Item[] = (
	[
		["Home", "#/"],
		["Announce", "#/announce"],
		["Schedules", "#/times"],
		["Issues", "#/attention"],
		["Firmware", "#/firmware"],
		["Add device", "#/add"],
		["Settings", "#/settings"],
		["Wi-Fi", "#/settings/wifi"],
		["People", "#/settings/people"],
		["Audit log", "#/settings/changes"],
	] as const
).map(([text, open]) => ({ text, hint: "View", open }));

export function Palette({ onClose }: { readonly onClose: () => void }) {
	const dialog = useRef<HTMLDialogElement>(null);
	const id = useId();
	const [query, setQuery] = useState("");
	const [index, setIndex] = useState(0);
	const items = useItems(query);
	const active = items[Math.min(index, items.length - 1)];
	useEffect(() => {
		const { current } = dialog;
		current?.showModal();
		// The backdrop belongs to the dialog.
		current?.addEventListener("pointerdown", ({ target }) => target === current && current.close());
	}, []);
	const activate = ({ open }: Item) => {
		dialog.current?.close();
		if (typeof open === "string") location.hash = open;
		else open();
	};
	const onKeyDown = (event: KeyboardEvent) => {
		const at = active ? items.indexOf(active) : 0;
		if (event.key === "ArrowDown") setIndex((at + 1) % items.length);
		else if (event.key === "ArrowUp") setIndex((at - 1 + items.length) % items.length);
		else if (event.key === "Enter" && active) activate(active);
		else return;
		event.preventDefault();
	};
	return (
		<dialog ref={dialog} class="palette" aria-label="Search" onClose={onClose}>
			<input
				type="text"
				role="combobox"
				aria-label="Search devices, rooms, views and actions"
				aria-expanded={items.length > 0}
				aria-controls={`${id}-list`}
				aria-activedescendant={active && `${id}-${items.indexOf(active)}`}
				aria-autocomplete="list"
				placeholder="Search devices, rooms, views and actions"
				autocomplete="off"
				spellcheck={false}
				value={query}
				onInput={({ currentTarget }) => {
					setQuery(currentTarget.value);
					setIndex(0);
				}}
				onKeyDown={onKeyDown}
			/>
			<div role="listbox" id={`${id}-list`} aria-label="Results">
				{items.map((item, at) => (
					// biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: The combobox has the focus.
					<div
						key={`${item.hint} ${item.text}`}
						role="option"
						id={`${id}-${at}`}
						aria-selected={item === active}
						onClick={() => activate(item)}
					>
						<span>{item.text}</span>
						<span class="hint">{item.hint}</span>
					</div>
				))}
			</div>
			<p class="hint" role="status">
				{items.length === 0 && "No matches."}
			</p>
		</dialog>
	);
}

function useItems(query: string): readonly Item[] {
	const app = useApp();
	const { fleet } = useTopic("list");
	const mayCommand = useMayChange("set_volume");
	const mayIdentify = useMayChange("identify");
	return useMemo(() => {
		const words = query.toLowerCase().split(/\s+/);
		const matches = ({ text }: Item) => words.every((word) => text.toLowerCase().includes(word));
		const entries = fleet.all();
		const found =
			query.trim() === "" ? [] : select(entries, { ...noQuery, search: query }).slice(0, shownAtMost);
		const devices = found.map(
			(entry): Item => ({
				text: nameOf(entry),
				hint: entry.session.room ?? "Device",
				open: deviceAddress(entry.key),
			}),
		);
		const names = roomsOf(entries);
		const rooms = names.map((name): Item => ({ text: name, hint: "Room", open: roomAddress(name) }));
		const announce = names.map(
			(room): Item => ({ text: `Announce in ${room}`, hint: "Action", open: announceAddress({ room }) }),
		);
		const muteAll = () =>
			app.jobs.start({ payload: { command: "set_volume", value: 0 }, targets: { all: true } });
		const mute: Item = { text: "Mute all devices", hint: "Action", open: muteAll };
		const flash = found.slice(0, 3).map((entry): Item => {
			const open = () => app.sendCommand(entry.key, { command: "identify" });
			return { text: `Flash light of ${nameOf(entry)}`, hint: "Action", open };
		});
		const actions = [...(mayCommand ? [mute] : []), ...announce];
		return [
			...[...rooms, ...views].filter(matches),
			...devices,
			...(mayIdentify ? flash : []),
			...actions.filter(matches),
		].slice(0, shownAtMost);
	}, [app, fleet, fleet.listVersion, query, mayCommand, mayIdentify]);
}
