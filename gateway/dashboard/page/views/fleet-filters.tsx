/** Filters of the device list, its order and its columns, as one line of chips. */

import { models } from "../../../../device/protocol/schema.js";
import type { Entry } from "../../../api/client/fleet.js";
import { useApp } from "../app/hooks.js";
import {
	type Layout,
	type Query,
	sortKinds,
	sorts,
	stateKinds,
	states,
	type tally,
} from "../model/filter.js";
import { roomsOf } from "../model/rooms.js";
import { tagsOf } from "../model/tags.js";
import { Check, Choice, type Option } from "../parts/field.js";
import { Menu } from "../parts/menu.js";
import { TagsField } from "../parts/tags-field.js";
import { optionalColumns } from "./fleet-table.js";

export interface FiltersProps {
	/** Name of the room; empty for devices without one; undefined for the fleet. */
	readonly room: string | undefined;
	readonly entries: readonly Entry[];
	readonly tallies: ReturnType<typeof tally>;
	readonly layout: Layout;
}

export function Filters({ room, entries, tallies, layout }: FiltersProps) {
	const app = useApp();
	const { query } = app;
	const set = (change: Partial<Query>) => app.changeQuery(change);
	const hidden = app.hiddenColumns.split(",");
	const own = (value: string): Option => [value, value];
	const rooms = new Set(room === undefined ? [...roomsOf(entries), query.room] : []);
	rooms.delete("");
	const fields: readonly (readonly ["state" | "room" | "model" | "version", string, readonly Option[]])[] = [
		["state", "State", states.map((state) => [state, stateKinds[state].words])],
		["room", "Room", [...rooms].map(own)],
		["model", "Model", models.map(own)],
		[
			"version",
			"Version",
			tallies.versions.map(({ value, count }) => [value, `${value}: ${count.toLocaleString("en")}`]),
		],
	];
	return (
		<div class="filters chips">
			{fields.map(
				([name, label, options]) =>
					options.length > 0 && (
						<Choice
							key={name}
							label={label}
							value={query[name]}
							onChange={(value) => set({ [name]: value })}
							options={[["", "Any"], ...options]}
						/>
					),
			)}
			{(query.tags !== "" || tagsOf(entries).length > 0) && (
				<Menu label={query.tags === "" ? "Tags" : `Tags: ${query.tags}`}>
					{() => <TagsField value={query.tags} entries={entries} onInput={(tags) => set({ tags })} />}
				</Menu>
			)}
			{layout === "table" && (
				<Menu label="Columns">
					{() =>
						optionalColumns.map(([id, title]) => (
							<Check
								key={id}
								label={title}
								checked={!hidden.includes(id)}
								onToggle={(isOn) => {
									const others = hidden.filter((column) => column !== id);
									app.hiddenColumns = [...others, ...(isOn ? [] : [id])].filter(Boolean).join();
								}}
							/>
						))
					}
				</Menu>
			)}
			<Choice
				label="Sort by"
				value={query.sort}
				onChange={(sort) => set({ sort, isDescending: false })}
				options={sorts.map((sort) => [sort, sortKinds[sort].words])}
			/>
		</div>
	);
}
