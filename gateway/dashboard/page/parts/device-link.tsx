/** Link to a device: its name, with the id as a tooltip. */

import { deviceAddress, useDevice } from "../app/hooks.js";
import { nameOf } from "../model/filter.js";

/** Renders plain text for an unknown device, such as a forgotten one. */
export function DeviceLink({ deviceKey }: { deviceKey: string }) {
	const entry = useDevice(deviceKey);
	if (!entry) return <span>{deviceKey}</span>;
	return (
		<a href={deviceAddress(deviceKey)} title={deviceKey}>
			{nameOf(entry)}
		</a>
	);
}
