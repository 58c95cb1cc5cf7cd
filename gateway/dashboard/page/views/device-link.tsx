/** A device in a list of something else: by the name that a person gave it, with its id under the pointer. */

import { deviceAddress, useDevice } from "../app/hooks.js";
import { nameOf } from "../model/filter.js";

/** One that is unknown, such as a forgotten one, has no page. */
export function DeviceLink({ deviceKey }: { deviceKey: string }) {
	const entry = useDevice(deviceKey);
	if (!entry) return <span>{deviceKey}</span>;
	return (
		<a href={deviceAddress(deviceKey)} title={deviceKey}>
			{nameOf(entry)}
		</a>
	);
}
