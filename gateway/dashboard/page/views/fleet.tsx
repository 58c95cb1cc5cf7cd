/** All devices: found, filtered and sorted, as cards or a table, with actions on several of them. */

import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { topics } from "../app/app.js";
import { routeOf, useApp, useTopic } from "../app/hooks.js";
import { type Look, select, tally, unfiltered } from "../model/filter.js";
import { Grid } from "../parts/grid.js";
import { ActionResults, SelectionBar } from "./fleet-actions.js";
import { Card } from "./fleet-card.js";
import { FleetTable } from "./fleet-table.js";
import { Toolbar } from "./fleet-toolbar.js";
import { ForgetAway } from "./forget-away.js";
import { GettingStarted } from "./getting-started.js";
import { Refusals } from "./refusals.js";

const card = { height: 140, minWidth: 340, gap: 14 };
/** More are shown as a table, unless a person chose otherwise. */
const cardsAtMost = 50;

export function FleetView({ search }: { search: string }) {
	for (const topic of [topics.list, topics.query, topics.link]) useTopic(topic);
	const app = useApp();
	const { fleet, query, linkState } = app;
	useLayoutEffect(() => app.readQuery(search), [app, search]);
	const { listVersion } = fleet;
	const entries = useMemo(() => fleet.all(), [fleet, listVersion]);
	const keys = useMemo(() => select(entries, query).map(({ key }) => key), [entries, query]);
	app.shownKeys = keys;
	const tallies = useMemo(() => tally(entries, query), [entries, query]);
	const initialKey = usePlace();
	if (entries.length === 0)
		return linkState.name === "live" ? (
			<>
				<GettingStarted />
				<Refusals />
			</>
		) : (
			<Waiting />
		);
	const look: Look = query.look || (entries.length > cardsAtMost ? "table" : "cards");
	return (
		<>
			<h1 class="visually-hidden">Fleet</h1>
			<Toolbar entries={entries} keys={keys} tallies={tallies} look={look} />
			<ActionResults />
			{keys.length === 0 && <NothingFound />}
			{keys.length > 0 && look === "cards" && (
				<Grid label="Devices" keys={keys} initialKey={initialKey} {...card}>
					{renderCard}
				</Grid>
			)}
			{keys.length > 0 && look === "table" && <FleetTable keys={keys} initialKey={initialKey} />}
			<SelectionBar keys={keys} />
			<ForgetAway />
			<Refusals />
		</>
	);
}

/** One function, so that cards are not rendered again while the list is scrolled. */
function renderCard(key: string) {
	return <Card deviceKey={key} />;
}

/** Restores the view's place, and stores it when the view is left. @returns the device that was opened from it */
function usePlace(): string | undefined {
	const app = useApp();
	const [place] = useState(app.place);
	useEffect(() => {
		if (!place) return;
		scrollTo(0, place.scrollTop);
		const { key } = place;
		const link = key && document.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"] a`);
		if (link) link.focus({ preventScroll: true });
	}, [place]);
	useLayoutEffect(
		() => () => {
			const next = routeOf(location.hash);
			app.place = { scrollTop: scrollY, key: next.view === "device" ? next.key : undefined };
		},
		[app],
	);
	return place?.key;
}

function NothingFound() {
	const app = useApp();
	const clear = () => {
		app.query = unfiltered(app.query);
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
