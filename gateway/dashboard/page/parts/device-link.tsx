/** Link to a device: its name, with the id as a tooltip, and its room. */

import { deviceAddress } from "../app/addresses.js";
import { useDevice } from "../app/hooks.js";
import { nameOf } from "../model/filter.js";

/** Renders plain text for an unknown device, such as a forgotten one. @param separator before the room */
export function DeviceLink({ deviceKey, separator = "" }: { deviceKey: string; separator?: string }) {
	const entry = useDevice(deviceKey);
	if (!entry) return <span>{deviceKey}</span>;
	const { room } = entry.session;
	return (
		<>
			<a href={deviceAddress(deviceKey)} title={deviceKey}>
				{nameOf(entry)}
			</a>
			{room !== undefined && <small class="hint">{separator + room}</small>}
		</>
	);
}
