/** End of the current quiet hours of a device, linked to their settings. */

import type { Entry } from "../../../api/client/fleet.js";
import { clock } from "../../../api/client/words.js";
import { schedulesAddress, useNow, useTopic } from "../app/hooks.js";

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
