/** Search, filters and order of the list of devices, and the number of devices of each kind. */

import { models } from "../../../../device/protocol/schema.js";
import type { Entry } from "../../../api/client/fleet.js";
import { plural } from "../../../api/client/words.js";
import { announceAddress, useApp, useIsLive } from "../app/hooks.js";
import {
	isFiltered,
	type Look,
	looks,
	type Query,
	roomsOf,
	type Sort,
	type State,
	sorts,
	type Tally,
	type tally,
	unfiltered,
} from "../model/filter.js";
import { anyOf, Choice } from "../parts/choice.js";

const stateWords: Readonly<Record<State, string>> = {
	connected: "Connected",
	away: "Away",
	updating: "Updating",
	rolled_back: "Rolled back",
	failed: "Update failed",
	crashed: "Crashed",
	safe_mode: "Safe mode",
};
const sortWords: Readonly<Record<Sort, string>> = {
	name: "Name",
	room: "Room",
	model: "Model",
	version: "Oldest version first",
	state: "Needs a person first",
	signal: "Weakest signal first",
	volume: "Volume",
	heard: "Away longest first",
};
const lookWords: Readonly<Record<Look, string>> = { cards: "Cards", table: "Table" };
const needsPerson: readonly State[] = ["rolled_back", "failed", "crashed", "safe_mode"];
/** Others are in a list. */
const versionsShown = 6;

interface ToolbarProps {
	readonly entries: readonly Entry[];
	/** Keys of the listed devices. */
	readonly keys: readonly string[];
	readonly tallies: ReturnType<typeof tally>;
	readonly look: Look;
}

export function Toolbar({ entries, keys, tallies, look }: ToolbarProps) {
	const app = useApp();
	const isLive = useIsLive();
	const { query } = app;
	const set = (change: Partial<Query>) => {
		// Not the query of the latest frame: two changes may come within one.
		app.query = { ...app.query, ...change };
	};
	const rooms = roomsOf(entries);
	const onFindKey = (event: KeyboardEvent) => {
		if (event.key !== "ArrowDown") return;
		const row = document.querySelector<HTMLElement>(".table-body [tabindex='0']");
		row?.focus();
		if (row) event.preventDefault();
	};
	return (
		<search>
			<div class="toolbar">
				<label class="find">
					<span class="visually-hidden">Search</span>
					<input
						type="search"
						placeholder="Search name, room, version, network…"
						value={query.search}
						onInput={({ currentTarget }) => set({ search: currentTarget.value })}
						onKeyDown={onFindKey}
					/>
				</label>
				{(rooms.length > 0 || query.room !== "") && (
					<Choice
						label="Room"
						value={query.room}
						onChange={(room) => set({ room })}
						options={anyOf(query.room === "" || rooms.includes(query.room) ? rooms : [query.room, ...rooms])}
					/>
				)}
				<Choice
					label="Model"
					value={query.model}
					onChange={(model) => set({ model })}
					options={anyOf(models)}
				/>
				<Choice
					label="Sort by"
					value={query.sort}
					onChange={(value) =>
						set({ sort: sorts.find((sort) => sort === value) ?? "name", isDescending: false })
					}
					options={sorts.map((sort) => [sort, sortWords[sort]])}
				/>
				<fieldset class="segments looks" aria-label="View">
					{looks.map((one) => (
						<button key={one} type="button" aria-pressed={one === look} onClick={() => set({ look: one })}>
							{lookWords[one]}
						</button>
					))}
				</fieldset>
			</div>
			<div class="tally-bar">
				<Versions tallies={tallies.versions} query={query} set={set} />
				<fieldset class="tallies" aria-label="States">
					{tallies.states.map((one) => (
						<Part
							key={one.value}
							tally={one}
							text={one.value === "connected" && !isLive ? "Were connected" : stateWords[one.value]}
							isOn={query.state === one.value}
							isBad={needsPerson.includes(one.value)}
							onToggle={() => set({ state: query.state === one.value ? "" : one.value })}
						/>
					))}
				</fieldset>
			</div>
			<Count entries={entries} keys={keys} set={set} />
		</search>
	);
}

interface VersionsProps {
	readonly tallies: readonly Tally<string>[];
	readonly query: Query;
	readonly set: (change: Partial<Query>) => void;
}

function Versions({ tallies, query: { version }, set }: VersionsProps) {
	const most = [...tallies].sort((a, b) => b.count - a.count).slice(0, versionsShown);
	const shown = tallies.filter((one) => most.includes(one) || one.value === version);
	const others = tallies.filter((one) => !shown.includes(one));
	return (
		<fieldset class="tallies" aria-label="Versions">
			{shown.map((one) => (
				<Part
					key={one.value}
					tally={one}
					text={one.value}
					isOn={version === one.value}
					onToggle={() => set({ version: version === one.value ? "" : one.value })}
				/>
			))}
			{others.length > 0 && (
				<select
					aria-label="Other versions"
					value=""
					onChange={({ currentTarget }) => set({ version: currentTarget.value })}
				>
					<option value="">{others.length} more</option>
					{others.map(({ value, count }) => (
						<option key={value} value={value}>
							{value}: {count}
						</option>
					))}
				</select>
			)}
		</fieldset>
	);
}

interface PartProps {
	readonly tally: Tally<string>;
	readonly text: string;
	readonly isOn: boolean;
	readonly isBad?: boolean;
	readonly onToggle: () => void;
}

function Part({ tally, text, isOn, isBad = false, onToggle }: PartProps) {
	return (
		<button
			type="button"
			class={`small tally ${isBad && tally.count > 0 ? "bad" : ""}`}
			aria-pressed={isOn}
			onClick={onToggle}
		>
			{text}: <b>{tally.count.toLocaleString("en")}</b>
		</button>
	);
}

function Count({ entries, keys, set }: Pick<ToolbarProps, "entries" | "keys"> & Pick<VersionsProps, "set">) {
	const { query, selection } = useApp();
	const isLive = useIsLive();
	const connected = entries.filter(({ session }) => session.connected).length;
	const isPart = isFiltered(query);
	return (
		<div class="count-line">
			<p class="count" role="status">
				{isPart
					? `${keys.length.toLocaleString("en")} of ${plural(entries.length, "device")}`
					: `${plural(entries.length, "device")}, ${connected.toLocaleString("en")} ${isLive ? "" : "were "}connected`}
			</p>
			{isPart && keys.length > 0 && (
				<button type="button" class="quiet small" onClick={() => set(unfiltered(query))}>
					Show all
				</button>
			)}
			<button
				type="button"
				class="quiet small"
				disabled={keys.length === 0}
				onClick={() => selection.set([...selection.keys, ...keys])}
			>
				Select {isPart ? "these" : "all"} {keys.length.toLocaleString("en")}
			</button>
			<a class="announce-all" href={announceAddress()}>
				Announce…
			</a>
			<a class="all-settings" href="#/settings">
				Settings of all
			</a>
		</div>
	);
}
