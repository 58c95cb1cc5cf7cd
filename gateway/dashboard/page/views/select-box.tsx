/** Check box that selects a device; with Shift, a range of devices. */

import { useTopic } from "../app/hooks.js";

interface SelectBoxProps {
	readonly deviceKey: string;
	readonly name: string;
	readonly tabIndex?: number;
}

export function SelectBox({ deviceKey, name, tabIndex }: SelectBoxProps) {
	const { selection, shownKeys } = useTopic("selection");
	return (
		<label class="select-box">
			<input
				type="checkbox"
				tabIndex={tabIndex}
				aria-label={`Select ${name}`}
				checked={selection.keys.has(deviceKey)}
				onClick={({ shiftKey }) => selection.toggle(deviceKey, shiftKey ? shownKeys : undefined)}
			/>
		</label>
	);
}
