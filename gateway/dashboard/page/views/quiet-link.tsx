/** End of the current quiet hours of a room or device, linked to their settings. */

import type { Entry } from "../../../api/client/fleet.js";
import { clock } from "../../../api/client/words.js";
import { schedulesAddress, useNow, useTopic } from "../app/hooks.js";
import { quietOf } from "../model/rooms.js";

interface RoomQuietProps {
	/** Undefined for the devices without a room. */
	readonly room: string | undefined;
	/** Whether to show a link outside quiet hours. */
	readonly isOffered: boolean;
}

export function RoomQuiet({ room, isOffered }: RoomQuietProps) {
	const { value } = useTopic("quiet").quietHours;
	if (!value) return null;
	const { holdsUntil = null, zone = "" } = quietOf(value.quietHours, room) ?? {};
	if (holdsUntil === null && !isOffered) return null;
	return (
		<a href={schedulesAddress(room === undefined ? {} : { room })}>
			{holdsUntil === null ? "Quiet hours…" : `Quiet until ${clock(Date.parse(holdsUntil) / 1000, zone)}`}
		</a>
	);
}

/** Shown while the device reports quiet hours. */
export function DeviceQuiet({ entry: { key, state } }: { entry: Entry }) {
	const { value } = useTopic("quiet").quietHours;
	const now = useNow(10_000);
	const until = state?.quiet?.until;
	if (!value || until === undefined || Date.parse(until) < now) return null;
	return (
		<a href={schedulesAddress({ device: key })}>Quiet until {clock(Date.parse(until) / 1000, value.zone)}</a>
	);
}
