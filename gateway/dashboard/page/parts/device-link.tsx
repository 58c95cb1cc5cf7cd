/** A link to a device in other lists: the name that a person gave it, with its id as a tooltip. */

import { deviceAddress, useDevice } from "../app/hooks.js";
import { nameOf } from "../model/filter.js";

/** An unknown device, such as a forgotten one, has no page. */
export function DeviceLink({ deviceKey }: { deviceKey: string }) {
	const entry = useDevice(deviceKey);
	if (!entry) return <span>{deviceKey}</span>;
	return (
		<a href={deviceAddress(deviceKey)} title={deviceKey}>
			{nameOf(entry)}
		</a>
	);
}
