/** All devices or those of one room, filtered and sorted, as a list by rooms or as a table. */

import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { listAddress, routeOf } from "../app/addresses.js";
import { useApp, useTopic } from "../app/hooks.js";
import { isFiltered, select, tally } from "../model/filter.js";
import { type Room, roomsIn } from "../model/rooms.js";
import { PageHead } from "../parts/page-head.js";
import { FleetTable } from "./fleet-table.js";
import { Toolbar } from "./fleet-toolbar.js";
import { onDemand } from "./on-demand.js";
import { RoomTile, useTimers, WholeHome } from "./room-tile.js";
import { DeviceList, Rooms } from "./rooms.js";

const GettingStarted = onDemand("Home", async () => (await import("./later.js")).GettingStarted);
const noRooms: readonly Room[] = [];
/** Number of devices above which the default layout is a table. */
const maxListed = 50;

interface FleetProps {
	readonly search: string;
	/** Limits the view to a room; empty for devices without one. */
	readonly room?: string;
}

export function FleetView({ search, room }: FleetProps) {
	const app = useTopic("list", "query", "link", "firmware");
	const { fleet, query, linkState } = app;
	useLayoutEffect(() => app.readQuery(search), [app, search]);
	const { listVersion } = fleet;
	const { findUpdate } = app.firmware;
	const { entries, keys, tallies, rooms } = useMemo(() => {
		const all = fleet.all();
		const entries = room === undefined ? all : all.filter(({ session }) => (session.room ?? "") === room);
		const listed = select(entries, query, findUpdate);
		const keys = listed.map(({ key }) => key);
		return { entries, keys, tallies: tally(entries, query, findUpdate), rooms: roomsIn(listed) };
	}, [fleet, listVersion, room, query, findUpdate]);
	useEffect(() => {
		app.shownKeys = keys;
		app.painter.mark("shown");
	}, [app, keys]);
	usePlace();
	const timers = useTimers();
	if (fleet.size === 0) return linkState.name === "live" ? <GettingStarted /> : <Waiting />;
	const hasRooms = room === undefined && entries.some(({ session }) => session.room !== undefined);
	// A search or sort order requires one list.
	const isByRoom = hasRooms && query.sort === "name" && query.search.trim() === "";
	const isByRooms = isByRoom && !isFiltered(query);
	// Devices that are still being loaded count too, so that the layout stays.
	const total = linkState.name === "connecting" ? linkState.total : undefined;
	const expected = room === undefined ? Math.max(entries.length, total ?? 0) : entries.length;
	const isPhone = matchMedia("(max-width: 44rem)").matches;
	const layout = query.layout || (expected > maxListed && !(isPhone && hasRooms) ? "table" : "list");
	return (
		<>
			<Toolbar room={room} entries={entries} keys={keys} tallies={tallies} layout={layout} />
			{room !== undefined && entries.length > 0 && (
				<RoomTile room={{ name: room || undefined, entries }} timers={timers} isOwnPage />
			)}
			{room === undefined && layout === "list" && entries.length > 1 && entries.length <= maxListed && (
				<WholeHome entries={entries} timers={timers} />
			)}
			{keys.length === 0 && <p class="empty">No devices match.</p>}
			{keys.length > 0 &&
				layout === "list" &&
				(isByRooms ? (
					<Rooms rooms={rooms} timers={timers} withDevices={expected <= maxListed} />
				) : (
					<DeviceList keys={keys} withRoom={room === undefined} />
				))}
			{keys.length > 0 && layout === "table" && <FleetTable keys={keys} rooms={isByRoom ? rooms : noRooms} />}
		</>
	);
}

/** Restores the scroll position, and stores it when the view is left. */
function usePlace(): void {
	const { places } = useApp();
	const [address] = useState(listAddress);
	const [place] = useState(() => places.get(address));
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
			places.set(address, { scrollTop: scrollY, key: next.view === "devices" ? next.key : undefined });
		},
		[places, address],
	);
}

function Waiting() {
	const { linkState } = useApp();
	const isFirst = linkState.name === "connecting";
	return (
		<>
			<PageHead title="Home" />
			<p role="status">{isFirst ? "Loading devices…" : "Waiting for the gateway…"}</p>
		</>
	);
}
