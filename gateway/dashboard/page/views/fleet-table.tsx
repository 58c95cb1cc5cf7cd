/**
 * Virtualized table of the fleet, sortable by every column. It shows the summary and requests no reports. As an ARIA grid, it moves
 * between rows with the arrow keys, opens a device with Enter and selects with Space. Only the active row has tab stops.
 */

import type { ComponentChildren } from "preact";
import { useCallback, useMemo } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { age } from "../../../api/client/words.js";
import { deviceAddress, roomAddress } from "../app/addresses.js";
import { useDevice, useIsLive, useNow, useTopic } from "../app/hooks.js";
import { volumeText } from "../app/mute.js";
import { nameOf, type Sort } from "../model/filter.js";
import type { Room } from "../model/rooms.js";
import { DeviceState, Strength } from "../parts/presence.js";
import { Tags } from "../parts/tags.js";
import { Cell, useList } from "../parts/use-list.js";
import { RoomFacts } from "./room-tile.js";
import { SelectBox } from "./select-box.js";

type Column = readonly [
	Sort,
	title: string,
	width: string,
	/** Returns nothing where all is well. */
	contentOf: (entry: Entry, isLive: boolean, tabIndex: number) => ComponentChildren,
];

const columns: readonly Column[] = [
	["name", "Device", "minmax(8.5rem, 2.4fr)", (entry, _, tabIndex) => nameCell(entry, tabIndex)],
	["room", "Room", "minmax(4.75rem, 1.1fr)", ({ session }) => session.room],
	["model", "Model", "4.75rem", ({ session }) => session.model],
	["version", "Firmware", "minmax(4.75rem, 0.7fr)", ({ session }) => session.firmwareVersion],
	[
		"state",
		"State",
		"minmax(7.5rem, 1.2fr)",
		(entry, isLive) => <DeviceState entry={entry}>{!isLive && "Unknown"}</DeviceState>,
	],
	[
		"signal",
		"Signal",
		"6.25rem",
		({ session, vitals }) => session.connected && <Strength rssi={vitals.rssi} />,
	],
	["volume", "Volume", "4.25rem", (entry) => entry.session.connected && volumeText(entry)],
	["heard", "Last seen", "6.25rem", ({ session, heardAt }) => !session.connected && <Age since={heardAt} />],
];
/** Columns that can be hidden. */
export const optionalColumns = columns.slice(1);

interface FleetTableProps {
	readonly keys: readonly string[];
	/** Rooms under whose headings the devices are shown; empty for one list. */
	readonly rooms: readonly Room[];
}

/** Key of the row of a room, which no device has. */
const headingOf = ({ name = "" }: Room) => `\n${name}`;

export function FleetTable({ keys, rooms }: FleetTableProps) {
	const { selection, hiddenColumns } = useTopic("selection");
	const isGrouped = rooms.length > 0;
	const hidden = `${hiddenColumns}${isGrouped ? ",room" : ""}`;
	const shown = useMemo(() => columns.filter(([id]) => !hidden.split(",").includes(id)), [hidden]);
	const rows = useMemo(
		() => (isGrouped ? rooms.flatMap((room) => [headingOf(room), ...keysOf(room)]) : keys),
		[keys, rooms],
	);
	const headings = useMemo(() => new Map(rooms.map((room) => [headingOf(room), room])), [rooms]);
	const renderRow = useCallback(
		(key: string, isActive: boolean) => <Row deviceKey={key} isActive={isActive} shown={shown} />,
		[shown],
	);
	const list = useList<HTMLTableSectionElement>({ keys: rows, isFirstActive: true });
	const { active = "", rowHeight } = list;
	const renderHeading = (key: string, isActive: boolean) => {
		const room = headings.get(key);
		return room && <Heading room={room} isActive={isActive} />;
	};
	const onKeyDown = (event: KeyboardEvent) => {
		const { key, target, shiftKey, ctrlKey, metaKey, altKey } = event;
		if (ctrlKey || metaKey || altKey) return;
		const index = rows.indexOf(active);
		const room = headings.get(active);
		const page = Math.max(1, Math.floor(innerHeight / rowHeight) - 4);
		const moves: Readonly<Record<string, number>> = {
			ArrowDown: index + 1,
			ArrowUp: index - 1,
			PageDown: index + page,
			PageUp: index - page,
			Home: 0,
			End: rows.length - 1,
		};
		const to = moves[key];
		if (to !== undefined) list.moveTo(rows[Math.max(0, Math.min(rows.length - 1, to))] ?? active);
		else if (!(target instanceof HTMLTableRowElement)) return;
		else if (key === "Enter") location.assign(room ? roomAddress(room.name) : deviceAddress(active));
		else if (key === " " && room) selection.toggleAll(keysOf(room));
		else if (key === " ") selection.toggle(active, shiftKey ? keys : undefined);
		else return;
		event.preventDefault();
	};
	return (
		<table
			// biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: ARIA calls a table with arrow keys a grid.
			role="grid"
			class="table"
			aria-label="Devices"
			aria-rowcount={rows.length + 1}
			aria-colcount={shown.length + 1}
			style={{ "--columns-of-table": shown.map(([, , width]) => width).join(" ") }}
			aria-multiselectable
		>
			<Head keys={keys} shown={shown} />
			<tbody
				ref={list.ref}
				class="table-body"
				style={{ height: `calc(${rows.length} * var(--row-height))` }}
				onKeyDown={onKeyDown}
				onFocusIn={list.onFocusIn}
			>
				{list.seen.map(({ key, index }) => (
					<tr
						key={key}
						class={`table-row ${headings.has(key) ? "heading" : ""}`}
						data-key={key}
						aria-rowindex={index + 2}
						aria-selected={headings.has(key) ? undefined : selection.keys.has(key)}
						tabIndex={key === active ? 0 : -1}
						style={{ transform: `translateY(calc(${index} * var(--row-height)))` }}
					>
						<Cell
							cellKey={key}
							isActive={key === active}
							content={headings.has(key) ? renderHeading : renderRow}
						/>
					</tr>
				))}
			</tbody>
		</table>
	);
}

function Head({ keys, shown }: { readonly keys: readonly string[]; readonly shown: readonly Column[] }) {
	const app = useTopic("query");
	const { sort, isDescending } = app.query;
	return (
		<thead class="table-head">
			<tr class="table-row" aria-rowindex={1}>
				<th scope="col">
					<SelectBox keys={keys} what="all listed devices" />
				</th>
				{shown.map(([id, title]) => (
					<th
						scope="col"
						key={id}
						class={`of-${id}`}
						aria-sort={id === sort ? (isDescending ? "descending" : "ascending") : "none"}
					>
						<button
							type="button"
							class="quiet small"
							onClick={() => app.changeQuery({ sort: id, isDescending: id === sort && !isDescending })}
						>
							{title}
							<span aria-hidden="true">{id === sort && (isDescending ? " ▾" : " ▴")}</span>
						</button>
					</th>
				))}
			</tr>
		</thead>
	);
}

function keysOf({ entries }: Room): readonly string[] {
	return entries.map(({ key }) => key);
}

/** Row of a room with its totals. */
function Heading({ room, isActive }: { readonly room: Room; readonly isActive: boolean }) {
	const tabIndex = isActive ? 0 : -1;
	const name = room.name ?? "No room";
	return (
		<>
			<td>
				<SelectBox keys={keysOf(room)} what={`all in ${name}`} tabIndex={tabIndex} />
			</td>
			<td class="of-name">
				<a href={roomAddress(room.name)} tabIndex={tabIndex}>
					{name}
				</a>
				<span class="facts">
					<RoomFacts entries={room.entries} />
				</span>
			</td>
		</>
	);
}

interface RowProps {
	readonly deviceKey: string;
	readonly isActive: boolean;
	readonly shown: readonly Column[];
}

function Row({ deviceKey, isActive, shown }: RowProps) {
	const entry = useDevice(deviceKey);
	const isLive = useIsLive();
	if (!entry) return null;
	const tabIndex = isActive ? 0 : -1;
	return (
		<>
			<td>
				<SelectBox keys={[deviceKey]} what={nameOf(entry)} tabIndex={tabIndex} />
			</td>
			{shown.map(([id, , , contentOf]) => (
				<td key={id} class={`of-${id}`}>
					{contentOf(entry, isLive, tabIndex)}
				</td>
			))}
		</>
	);
}

/** Name, with id and tags beside it. */
function nameCell(entry: Entry, tabIndex: number) {
	const { key, session } = entry;
	const { name, tags } = session;
	return (
		<>
			<a href={deviceAddress(key)} tabIndex={tabIndex}>
				{nameOf(entry)}
			</a>
			<span class="beside" title={tags?.join(", ")}>
				{name !== undefined && <small>{key}</small>}
				<Tags tags={tags} />
			</span>
		</>
	);
}

function Age({ since }: { since: number }) {
	return <>{age(useNow(1000) - since)}</>;
}
