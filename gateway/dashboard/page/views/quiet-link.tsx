/** End of the current quiet hours of a device, linked to their settings. */

import type { Entry } from "../../../api/client/fleet.js";
import { schedulesAddress, useNow, useTopic } from "../app/hooks.js";
import { quietOf, quietState } from "../model/rooms.js";

/** Shown while the device reports quiet hours. */
export function DeviceQuiet({ entry: { key, session, state } }: { entry: Entry }) {
	const { value } = useTopic("quiet").quietHours;
	const now = useNow(10_000);
	const until = state?.quiet?.until;
	if (!value || until === undefined || Date.parse(until) < now) return null;
	const hours = quietOf(value.quietHours, session.room, key);
	return <a href={schedulesAddress({ device: key })}>{quietState(hours, until)}</a>;
}
