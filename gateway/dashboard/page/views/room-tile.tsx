/** Tiles of a room and of the whole home, with what they share: quiet hours, the next timer and a link to announce. */

import house from "lucide-static/icons/house.svg";
import megaphone from "lucide-static/icons/megaphone.svg";
import moon from "lucide-static/icons/moon.svg";
import speaker from "lucide-static/icons/speaker.svg";
import timer from "lucide-static/icons/timer.svg";
import type { ComponentChildren, ComponentProps } from "preact";
import type { Entry } from "../../../api/client/fleet.js";
import { countdown, plural } from "../../../api/client/words.js";
import type { Targets } from "../../../api/targets.js";
import { roomAddress, viewAddress } from "../app/addresses.js";
import { requestIfFound } from "../app/gateway.js";
import { useDenial, useNow, useResource, useTopic } from "../app/hooks.js";
import { hasFault } from "../model/issues.js";
import { quietOf, quietState, type Room } from "../model/rooms.js";
import { Icon } from "../parts/icon.js";
import { Permitted } from "../parts/permitted.js";
import { isPlaying } from "../parts/presence.js";
import { Tile } from "../parts/tile.js";

interface RoomTileProps {
	readonly room: Room;
	readonly timers?: readonly Timer[];
	/** Shows the tile on the page of the room. */
	readonly isOwnPage?: boolean;
	/** Icon buttons. */
	readonly children?: ComponentChildren;
}

export function RoomTile({ room, timers = [], isOwnPage = false, children }: RoomTileProps) {
	const { name, entries } = room;
	return (
		<Tile
			title={name ?? "No room"}
			heading={isOwnPage ? "Whole room" : undefined}
			href={isOwnPage ? undefined : roomAddress(name)}
			look="room"
			isRegion
			figure={<Figure of={speaker} />}
			state={
				<>
					{entries.some(isPlaying) && <span class="fact">Playing</span>}
					<RoomFacts entries={entries} />
					<NextTimer timers={timers.filter(({ targets }) => isAt(targets, room))} />
					<RoomQuiet room={name} isOffered={isOwnPage} />
				</>
			}
			actions={
				<div class="tile-actions">
					<AnnounceIn room={room} />
					{children}
				</div>
			}
			entries={entries}
		/>
	);
}

/** Numbers of devices, of those that are offline, and of faults. */
export function RoomFacts({ entries }: Pick<Room, "entries">) {
	const away = entries.filter(({ session }) => !session.connected).length;
	const faulty = entries.filter(hasFault).length;
	return (
		<>
			<span class="fact">{plural(entries.length, "device")}</span>
			{away > 0 && <span class="fact">{away.toLocaleString("en")} offline</span>}
			{faulty > 0 && <span class="fact problem">{plural(faulty, "fault")}</span>}
		</>
	);
}

/** Whether all targets are in a room. */
function isAt({ room, devices = [] }: Targets, { name, entries }: Room): boolean {
	if (room !== undefined) return room === name;
	return devices.length > 0 && devices.every((id) => entries.some(({ key }) => key === id));
}

function Figure({ of }: ComponentProps<typeof Icon>) {
	return (
		<span class="figure">
			<Icon of={of} />
		</span>
	);
}

/** Link to the announce view for a room. */
export function AnnounceIn({ room: { name, entries } }: { room: Room }) {
	const label = `Announce in ${name ?? "No room"}`;
	const on = name === undefined ? { devices: entries.map(({ key }) => key) } : { room: name };
	return (
		<Permitted action="play_sound" isSilent>
			<a class="button icon-button quiet" aria-label={label} title={label} href={viewAddress("announce", on)}>
				<Icon of={megaphone} />
			</a>
		</Permitted>
	);
}

interface RoomQuietProps {
	/** Undefined for the devices without a room. */
	readonly room: string | undefined;
	/** Id of a device in the room, whose own quiet hours take precedence. */
	readonly device?: string;
	/** Links to the quiet hours at any time. */
	readonly isOffered?: boolean;
}

/** Current quiet hours of a room or a device, linked to their settings. */
export function RoomQuiet({ room, device, isOffered = false }: RoomQuietProps) {
	const { value } = useTopic("quiet").quietHours;
	const denial = useDenial("set_quiet");
	if (!value) return null;
	const text =
		quietState(quietOf(value.quietHours, room, device)) || (isOffered && !denial && "Quiet hours…");
	if (!text) return null;
	const targets = device !== undefined ? { devices: [device] } : room !== undefined ? { room } : {};
	return (
		<a class="mark" href={viewAddress("schedules", targets)}>
			<Icon of={moon} size={14} />
			{text}
		</a>
	);
}

interface WholeHomeProps {
	readonly entries: readonly Entry[];
	readonly timers: readonly Timer[];
}

export function WholeHome({ entries, timers }: WholeHomeProps) {
	return (
		<Tile
			title="Whole home"
			look="home"
			isRegion
			figure={<Figure of={house} />}
			state={
				<>
					<NextTimer timers={timers} />
					<RoomQuiet room={undefined} />
				</>
			}
			entries={entries}
		/>
	);
}

/** Interval at which the timers are loaded again. */
const timersEveryMs = 20_000;

export interface Timer {
	readonly name: string | undefined;
	readonly targets: Targets;
	/** In milliseconds since 1970. */
	readonly endsAt: number;
}

/** Running timers, the next first. */
export function useTimers(): readonly Timer[] {
	const list = useResource(() => requestIfFound("GET /api/schedules"), timersEveryMs);
	return (list.value?.schedules ?? [])
		.flatMap(({ at, name, do: { announcement, command }, nextAt }) =>
			at.in === undefined || nextAt === null
				? []
				: { name, targets: (announcement ?? command)?.targets ?? {}, endsAt: Date.parse(nextAt) },
		)
		.sort((a, b) => a.endsAt - b.endsAt);
}

/** Timer that ends next, such as "Pizza 7:12". */
function NextTimer({ timers }: { readonly timers: readonly Timer[] }) {
	const now = useNow(1000);
	const next = timers.find(({ endsAt }) => endsAt > now);
	if (!next) return null;
	return (
		<a class="mark" href={viewAddress("schedules")}>
			<Icon of={timer} size={14} />
			{`${next.name ?? "Timer"} ${countdown(Math.ceil((next.endsAt - now) / 1000))}`}
		</a>
	);
}
