/** Tiles of a room and of the whole home, with what they share: quiet hours, the next timer and a link to announce. */

import house from "lucide-static/icons/house.svg";
import megaphone from "lucide-static/icons/megaphone.svg";
import moon from "lucide-static/icons/moon.svg";
import speaker from "lucide-static/icons/speaker.svg";
import timer from "lucide-static/icons/timer.svg";
import type { ComponentProps } from "preact";
import type { Entry } from "../../../api/client/fleet.js";
import { clock, countdown, plural } from "../../../api/client/words.js";
import { requestIfFound } from "../app/gateway.js";
import {
	announceAddress,
	roomAddress,
	schedulesAddress,
	useDenial,
	useNow,
	useResource,
	useTopic,
} from "../app/hooks.js";
import { hasFault } from "../model/issues.js";
import { quietOf, type Room } from "../model/rooms.js";
import { Icon } from "../parts/icon.js";
import { Permitted } from "../parts/permitted.js";
import { Tile } from "../parts/tile.js";

/** @param isOwnPage shows the tile on the page of the room */
export function RoomTile({ room, isOwnPage = false }: { room: Room; isOwnPage?: boolean }) {
	const { name, entries } = room;
	const away = entries.filter(({ session }) => !session.connected).length;
	const faulty = entries.filter(hasFault).length;
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
					<span class="fact">{plural(entries.length, "device")}</span>
					{away > 0 && <span class="fact">{away.toLocaleString("en")} offline</span>}
					{faulty > 0 && <span class="fact problem">{plural(faulty, "fault")}</span>}
					<RoomQuiet room={name} look={isOwnPage ? "offered" : "short"} />
				</>
			}
			actions={<AnnounceIn room={room} />}
			entries={entries}
		/>
	);
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
	const on = name === undefined ? { keys: new Set(entries.map(({ key }) => key)) } : { room: name };
	return (
		<Permitted action="play_sound" isSilent>
			<a
				class="button icon-button quiet announce-in"
				aria-label={label}
				title={label}
				href={announceAddress(on)}
			>
				<Icon of={megaphone} />
			</a>
		</Permitted>
	);
}

interface RoomQuietProps {
	/** Undefined for the devices without a room. */
	readonly room: string | undefined;
	/** `moon` shows an icon, `short` adds the end of the quiet hours, and `offered` shows text and a link at any time. */
	readonly look: "moon" | "short" | "offered";
}

/** End of the current quiet hours of a room, linked to their settings. */
export function RoomQuiet({ room, look }: RoomQuietProps) {
	const { value } = useTopic("quiet").quietHours;
	const denial = useDenial("set_quiet");
	if (!value) return null;
	const { holdsUntil = null, zone = "" } = quietOf(value.quietHours, room) ?? {};
	if (holdsUntil === null && (look !== "offered" || denial)) return null;
	const end = holdsUntil === null ? "" : clock(Date.parse(holdsUntil) / 1000, zone);
	const text = end ? `Quiet until ${end}` : "Quiet hours…";
	return (
		<a class="mark" title={text} href={schedulesAddress(room === undefined ? {} : { room })}>
			<Icon of={moon} size={14} />
			{look === "offered" ? text : <span class="visually-hidden">{text}</span>}
			{look === "short" && <span aria-hidden>{end}</span>}
		</a>
	);
}

export function WholeHome({ entries }: { readonly entries: readonly Entry[] }) {
	const { value } = useTopic("quiet").quietHours;
	return (
		<Tile
			title="Whole home"
			look="home"
			isRegion
			figure={<Figure of={house} />}
			state={
				value && (
					<>
						<NextTimer />
						<RoomQuiet room={undefined} look="moon" />
					</>
				)
			}
			entries={entries}
		/>
	);
}

/** Interval at which the timers are loaded again. */
const timersEveryMs = 20_000;

/** Timer that ends next, such as "Pizza 7:12". */
function NextTimer() {
	const list = useResource(() => requestIfFound("GET /api/schedules"), timersEveryMs);
	const now = useNow(1000);
	const [next] = (list.value?.schedules ?? [])
		.flatMap(({ at, name, nextAt }) =>
			at.in === undefined || nextAt === null ? [] : { name, seconds: (Date.parse(nextAt) - now) / 1000 },
		)
		.filter(({ seconds }) => seconds > 0)
		.sort((a, b) => a.seconds - b.seconds);
	if (!next) return null;
	const seconds = Math.ceil(next.seconds);
	return (
		<a class="mark" href={schedulesAddress()}>
			<Icon of={timer} size={14} />
			{`${next.name ?? "Timer"} ${countdown(seconds)}`}
		</a>
	);
}
