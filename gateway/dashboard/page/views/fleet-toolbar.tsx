/** Header of the fleet and of a room: device counts, faults, search and filters. */

import back from "lucide-static/icons/chevron-left.svg";
import filterIcon from "lucide-static/icons/list-filter.svg";
import { useState } from "preact/hooks";
import { capital, plural } from "../../../api/client/words.js";
import { useApp } from "../app/hooks.js";
import { isFiltered, layouts, type Query, stateKinds, unfiltered } from "../model/filter.js";
import { Button } from "../parts/button.js";
import { Icon } from "../parts/icon.js";
import { Search, Toggles } from "../parts/search.js";
import type { FiltersProps } from "./fleet-filters.js";
import { onDemand } from "./on-demand.js";

interface ToolbarProps extends FiltersProps {
	/** Keys of the listed devices. */
	readonly keys: readonly string[];
}

const Filters = onDemand<FiltersProps>("", async () => (await import("./later.js")).Filters);

export function Toolbar({ room, entries, keys, tallies, layout }: ToolbarProps) {
	const app = useApp();
	const { query, selection, linkState } = app;
	const isPart = isFiltered(query);
	const inPanel = [query.model, query.room, query.tags, query.version, query.state].filter(Boolean).length;
	const [isOpen, setIsOpen] = useState(false);
	const set = (change: Partial<Query>) => app.changeQuery(change);
	const onFindKey = (event: KeyboardEvent) => {
		if (event.key !== "ArrowDown" && event.key !== "Enter") return;
		const first = document.querySelector<HTMLElement>(".table-body [tabindex='0'], main .grid a");
		if (event.key === "Enter") first?.closest("[data-key]")?.querySelector("a")?.click();
		else first?.focus();
		if (first) event.preventDefault();
	};
	const all = entries.length.toLocaleString("en");
	const here = entries.filter(({ session }) => session.connected).length.toLocaleString("en");
	const { [linkState.name]: known } = {
		live: `${here} of ${all} connected`,
		connecting: `${all} loaded`,
		lost: `${here} of ${all} were connected`,
	};
	const marked = tallies.states.filter(
		({ value, count }) => value === query.state || (count > 0 && stateKinds[value].severity),
	);
	return (
		<search class={`page-head head ${isOpen ? "open" : ""}`}>
			{room !== undefined && (
				<a class="parent" href="#/">
					<Icon of={back} size={16} />
					Home
				</a>
			)}
			<h1>{room === undefined ? "Home" : room || "No room"}</h1>
			<div class="tools">
				<Search
					label="Search"
					placeholder="Search name, room, version…"
					value={query.search}
					onInput={(search) => set({ search })}
					onKeyDown={onFindKey}
				/>
				<Button look={inPanel > 0 ? "" : "compact"} isOpen={isOpen} onClick={() => setIsOpen(!isOpen)}>
					<Icon of={filterIcon} />
					<span>Filter{inPanel > 0 && `: ${inPanel}`}</span>
				</Button>
				<Toggles
					label="View"
					options={layouts.map((name) => [name, capital(name)])}
					value={layout}
					onChange={(chosen) => set({ layout: chosen })}
				/>
			</div>
			{isOpen && <Filters room={room} entries={entries} tallies={tallies} layout={layout} />}
			<div class="states">
				<p role="status">
					{isPart ? `${keys.length.toLocaleString("en")} of ${plural(entries.length, "device")}` : known}
				</p>
				<Toggles
					label="States"
					look="chips"
					options={marked.map(({ value, count }) => [
						value,
						<span key={value}>
							{stateKinds[value].words}:{" "}
							<b class={count > 0 ? stateKinds[value].severity : ""}>{count.toLocaleString("en")}</b>
						</span>,
					])}
					value={query.state}
					onChange={(value) => set({ state: query.state === value ? "" : value })}
				/>
				{isPart && (
					<Button look="quiet" onClick={() => set(unfiltered(query))}>
						Show all
					</Button>
				)}
				<Button
					look="quiet select-all"
					disabled={keys.length === 0}
					onClick={() => selection.set([...selection.keys, ...keys])}
				>
					Select {isPart ? "these" : "all"} {keys.length.toLocaleString("en")}
				</Button>
			</div>
		</search>
	);
}
