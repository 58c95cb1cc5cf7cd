/** All devices at a glance: found, filtered, sorted, and each with its ring as it shows it. */

import { useMemo } from "preact/hooks";
import { models } from "../../../../device/protocol/schema.js";
import { topics } from "../app/app.js";
import { deviceAddress, useApp, useDevice, useTopic } from "../app/hooks.js";
import { noQuery, type Query, select, sorts, states, versionsOf } from "../model/filter.js";
import type { Entry } from "../model/fleet.js";
import { crashText, hasFailed, isUpdating, plural } from "../model/words.js";
import { Grid } from "../parts/grid.js";
import { Presence, SafeMode, Signal, UpdateState } from "../parts/presence.js";
import { Ring } from "../parts/ring.js";
import { GettingStarted } from "./getting-started.js";
import { Refusals } from "./refusals.js";

const card = { height: 132, minWidth: 296, gap: 14 };

export function FleetView() {
	useTopic(topics.list);
	useTopic(topics.query);
	useTopic(topics.link);
	const { fleet, query, linkState } = useApp();
	const entries = fleet.all();
	const keys = select(entries, query).map(({ key }) => key);
	if (entries.length === 0)
		return linkState.name === "live" ? (
			<>
				<GettingStarted />
				<Refusals />
			</>
		) : (
			<Waiting />
		);
	return (
		<>
			<h1 class="visually-hidden">Fleet</h1>
			<Toolbar entries={entries} shown={keys.length} />
			{keys.length === 0 ? (
				<NothingFound />
			) : (
				<Grid label="Devices" keys={keys} {...card}>
					{(key) => <Card deviceKey={key} />}
				</Grid>
			)}
			<Refusals />
		</>
	);
}

function Card({ deviceKey }: { deviceKey: string }) {
	const entry = useDevice(deviceKey);
	if (!entry) return null;
	const { session, state } = entry;
	const { metadata } = session;
	const isNews = isUpdating(metadata) || hasFailed(metadata);
	return (
		<article class={`card ${session.connected ? "" : "away"}`}>
			<Ring entry={entry} size="small">
				{isUpdating(metadata) && <span>{metadata.otaPercent ?? 0}%</span>}
			</Ring>
			<div class="card-text">
				<h2>
					<a href={deviceAddress(deviceKey)}>{session.deviceId ?? "Not named yet"}</a>
				</h2>
				<p class="facts">
					<span>{session.model ?? "Model not known"}</span>
					{session.firmwareVersion !== null && <span>{session.firmwareVersion}</span>}
					<SafeMode entry={entry} />
				</p>
				<p>
					<Presence entry={entry} />
				</p>
				{isNews ? (
					<UpdateState metadata={metadata} />
				) : (
					<p class="facts">
						<Signal entry={entry} />
						{session.crashCount !== undefined ? (
							<span class="crashed">{crashText(session.crashCount, session.firmwareVersion)}</span>
						) : (
							session.connected && state && <span>Volume {state.peripherals.audio.volume}</span>
						)}
					</p>
				)}
			</div>
		</article>
	);
}

const stateWords = {
	connected: "Connected",
	away: "Away",
	updating: "Updating",
	failed: "Update failed",
	crashed: "Crashed",
};
const sortWords = {
	name: "Name",
	state: "Needs a person first",
	version: "Oldest version first",
	signal: "Weakest signal first",
};

function Toolbar({ entries, shown }: { entries: readonly Entry[]; shown: number }) {
	const app = useApp();
	const { query } = app;
	const set = (change: Partial<Query>) => {
		// Not the query of the latest frame: two changes may come within one.
		app.query = { ...app.query, ...change };
	};
	const versions = useMemo(() => versionsOf(entries), [entries]);
	const connected = entries.filter(({ session }) => session.connected).length;
	return (
		<search class="toolbar">
			<label class="find">
				<span class="visually-hidden">Search</span>
				<input
					type="search"
					placeholder="Search name, version, network…"
					value={query.search}
					onInput={({ currentTarget }) => set({ search: currentTarget.value })}
				/>
			</label>
			<Choice
				label="Model"
				value={query.model}
				onChange={(model) => set({ model })}
				options={anyOf(models)}
			/>
			<Choice
				label="Version"
				value={query.version}
				onChange={(version) => set({ version })}
				options={anyOf(versions)}
			/>
			<Choice
				label="State"
				value={query.state}
				onChange={(value) => set({ state: states.find((state) => state === value) ?? "" })}
				options={[["", "Any"], ...states.map((state) => [state, stateWords[state]] as const)]}
			/>
			<Choice
				label="Sort by"
				value={query.sort}
				onChange={(value) => set({ sort: sorts.find((sort) => sort === value) ?? "name" })}
				options={sorts.map((sort) => [sort, sortWords[sort]])}
			/>
			<p class="count" role="status">
				{shown === entries.length
					? plural(shown, "device")
					: `${shown} of ${plural(entries.length, "device")}`}
				{`, ${connected.toLocaleString("en")} connected`}
			</p>
			<a class="all-settings" href="#/settings">
				Settings of all
			</a>
		</search>
	);
}

type Option = readonly [value: string, text: string];

function anyOf(values: readonly string[]): readonly Option[] {
	return [["", "Any"], ...values.map((value) => [value, value] as const)];
}

interface ChoiceProps {
	readonly label: string;
	readonly value: string;
	readonly options: readonly Option[];
	readonly onChange: (value: string) => void;
}

export function Choice({ label, value, options, onChange }: ChoiceProps) {
	return (
		<label class="choice">
			<span>{label}</span>
			<select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
				{options.map(([one, text]) => (
					<option key={one} value={one}>
						{text}
					</option>
				))}
			</select>
		</label>
	);
}

function NothingFound() {
	const app = useApp();
	const clear = () => {
		app.query = { ...noQuery, sort: app.query.sort };
	};
	return (
		<div class="empty">
			<p>No device is like that.</p>
			<button type="button" onClick={clear}>
				Show all
			</button>
		</div>
	);
}

function Waiting() {
	const { linkState } = useApp();
	const isFirst = linkState.name === "connecting";
	return (
		<div class="empty">
			<h1 class="visually-hidden">Fleet</h1>
			<p role="status">{isFirst ? "Looking for devices…" : "Devices show here once the gateway is back."}</p>
		</div>
	);
}
