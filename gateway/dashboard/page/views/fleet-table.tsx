/**
 * Virtualized table of the fleet, sortable by every column. It shows the summary and requests no reports. As an ARIA grid, it moves
 * between rows with the arrow keys, opens a device with Enter, selects with Space, and starts a search on a letter. Only the active row
 * has tab stops.
 */

import type { Entry } from "../../../api/client/fleet.js";
import { age, isUpdating } from "../../../api/client/words.js";
import { deviceAddress, useDevice, useIsLive, useMayChange, useTopic } from "../app/hooks.js";
import { isMuted } from "../app/mute.js";
import { nameOf, type Sort } from "../model/filter.js";
import { DeviceState, Strength } from "../parts/presence.js";
import { Tags } from "../parts/tags.js";
import { Cell, useList } from "../parts/use-list.js";
import { Identify, SelectBox } from "./fleet-actions.js";

const columns: readonly (readonly [Sort, title: string])[] = [
	["name", "Device"],
	["room", "Room"],
	["model", "Model"],
	["version", "Firmware"],
	["state", "State"],
	["signal", "Signal"],
	["volume", "Volume"],
	["heard", "Last seen"],
];

export function FleetTable({ keys }: { keys: readonly string[] }) {
	const { selection } = useTopic("selection");
	const list = useList<HTMLTableSectionElement>({ keys, isFirstActive: true });
	const { active = "", rowHeight } = list;
	const onKeyDown = (event: KeyboardEvent) => {
		const { key, target, shiftKey, ctrlKey, metaKey, altKey } = event;
		if (ctrlKey || metaKey || altKey) return;
		const index = keys.indexOf(active);
		const page = Math.max(1, Math.floor(innerHeight / rowHeight) - 4);
		const moves: Readonly<Record<string, number>> = {
			ArrowDown: index + 1,
			ArrowUp: index - 1,
			PageDown: index + page,
			PageUp: index - page,
			Home: 0,
			End: keys.length - 1,
		};
		const to = moves[key];
		if (to !== undefined) list.moveTo(keys[Math.max(0, Math.min(keys.length - 1, to))] ?? active);
		else if (!(target instanceof HTMLTableRowElement)) return;
		else if (key === "Enter") location.assign(deviceAddress(active));
		else if (key === " ") selection.toggle(active, shiftKey ? keys : undefined);
		// The newly focused search field receives the letter.
		else if (key.length === 1) return document.querySelector<HTMLElement>("search input")?.focus();
		else return;
		event.preventDefault();
	};
	return (
		<table
			// biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: ARIA calls a table with arrow keys a grid.
			role="grid"
			class="table"
			aria-label="Devices"
			aria-rowcount={keys.length + 1}
			aria-colcount={columns.length + 3}
			aria-multiselectable
		>
			<Head keys={keys} />
			<tbody
				ref={list.ref}
				class="table-body"
				style={{ height: `calc(${keys.length} * var(--row-height))` }}
				onKeyDown={onKeyDown}
				onFocusIn={list.onFocusIn}
			>
				{list.seen.map(({ key, index }) => (
					<tr
						key={key}
						class="table-row"
						data-key={key}
						aria-rowindex={index + 2}
						aria-selected={selection.keys.has(key)}
						tabIndex={key === active ? 0 : -1}
						style={{ transform: `translateY(calc(${index} * var(--row-height)))` }}
					>
						<Cell cellKey={key} isActive={key === active} content={renderRow} />
					</tr>
				))}
			</tbody>
		</table>
	);
}

function Head({ keys }: { readonly keys: readonly string[] }) {
	const app = useTopic("query");
	const { sort, isDescending } = app.query;
	return (
		<thead class="table-head">
			<tr class="table-row" aria-rowindex={1}>
				<th scope="col">
					<SelectAll keys={keys} />
				</th>
				{columns.map(([id, title]) => (
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
				<th scope="col">
					<span class="visually-hidden">Update</span>
				</th>
				<th scope="col">
					<span class="visually-hidden">Flash light</span>
				</th>
			</tr>
		</thead>
	);
}

/** Check box that selects all listed devices, or none. */
function SelectAll({ keys }: { readonly keys: readonly string[] }) {
	const { selection } = useTopic("selection");
	const count = keys.filter((key) => selection.keys.has(key)).length;
	const hasAll = count === keys.length;
	const toggle = () => {
		const next = new Set(selection.keys);
		for (const key of keys) hasAll ? next.delete(key) : next.add(key);
		selection.set(next);
	};
	return (
		<input
			type="checkbox"
			class="select-box"
			aria-label={hasAll ? "Select none" : "Select all listed devices"}
			checked={hasAll}
			ref={(box) => {
				if (box) box.indeterminate = count > 0 && !hasAll;
			}}
			onClick={toggle}
		/>
	);
}

function renderRow(deviceKey: string, isActive: boolean) {
	return <Row deviceKey={deviceKey} isActive={isActive} />;
}

function Row({ deviceKey, isActive }: { deviceKey: string; isActive: boolean }) {
	const entry = useDevice(deviceKey);
	const isLive = useIsLive();
	if (!entry) return null;
	const { session, vitals, heardAt } = entry;
	const tabIndex = isActive ? 0 : -1;
	const name = nameOf(entry);
	return (
		<>
			<td>
				<SelectBox deviceKey={deviceKey} name={name} tabIndex={tabIndex} />
			</td>
			<td class="of-name">
				<a href={deviceAddress(deviceKey)} tabIndex={tabIndex}>
					{name}
				</a>
				<span class="beside" title={session.tags?.join(", ")}>
					{session.name !== undefined && <small>{deviceKey}</small>}
					<Tags tags={session.tags} />
				</span>
			</td>
			<td class="of-room">{session.room}</td>
			<td class="of-model">{session.model}</td>
			<td class="of-version">{session.firmwareVersion}</td>
			<td class="of-state">
				<DeviceState entry={entry}>
					<span class={`presence ${isLive ? "here" : ""}`}>{isLive ? "Connected" : "Unknown"}</span>
				</DeviceState>
			</td>
			<td class="of-signal">
				<Strength rssi={session.connected ? vitals.rssi : null} />
			</td>
			<td class="of-volume">{session.connected && (isMuted(entry) ? "Muted" : vitals.volume)}</td>
			<td class="of-heard">{session.connected ? isLive && "now" : <Age since={heardAt} />}</td>
			<td class="of-update">
				<Update entry={entry} tabIndex={tabIndex} />
			</td>
			<td>
				<Identify deviceKey={deviceKey} tabIndex={tabIndex} />
			</td>
		</>
	);
}

/** Link to an available update of a device. */
function Update({ entry, tabIndex }: { readonly entry: Entry; readonly tabIndex: number }) {
	const { firmware } = useTopic("firmware");
	const update = useMayChange() && !isUpdating(entry.session.metadata) && firmware.findUpdate(entry);
	if (!update) return null;
	const label = `Update ${nameOf(entry)} to ${update.selector}`;
	return (
		<a
			class="update"
			href={deviceAddress(entry.key, "firmware")}
			tabIndex={tabIndex}
			aria-label={label}
			title={label}
		>
			<span>Update</span>
		</a>
	);
}

function Age({ since }: { since: number }) {
	const { clock } = useTopic("second");
	return <>{age(clock.now() - since)}</>;
}
