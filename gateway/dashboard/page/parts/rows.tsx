/** Virtualized list of devices: each row has a link to the device and custom content. */

import type { ComponentChildren } from "preact";
import { DeviceLink } from "./device-link.js";
import { Grid } from "./grid.js";

interface RowsProps<T> {
	readonly label: string;
	readonly items: readonly T[];
	readonly children: (item: T) => ComponentChildren;
}

export function Rows<T extends { readonly deviceId: string }>({ label, items, children }: RowsProps<T>) {
	const byKey = new Map(items.map((item) => [item.deviceId, item]));
	return (
		<Grid label={label} keys={[...byKey.keys()]}>
			{(key) => {
				const item = byKey.get(key);
				return (
					item && (
						<div class="row">
							<DeviceLink deviceKey={key} />
							{children(item)}
						</div>
					)
				);
			}}
		</Grid>
	);
}
