/** Check box that selects devices, or none if all are selected; with Shift, a range up to the device. */

import { useTopic } from "../app/hooks.js";

interface SelectBoxProps {
	readonly keys: readonly string[];
	/** Name of the device, or "all in Kitchen". */
	readonly what: string;
	readonly tabIndex?: number;
}

export function SelectBox({ keys, what, tabIndex }: SelectBoxProps) {
	const { selection, shownKeys } = useTopic("selection");
	const count = keys.filter((key) => selection.keys.has(key)).length;
	const hasAll = count === keys.length;
	const [key = ""] = keys;
	const isSingle = keys.length === 1;
	return (
		<label class="select-box">
			<input
				type="checkbox"
				tabIndex={tabIndex}
				aria-label={hasAll && !isSingle ? "Select none" : `Select ${what}`}
				checked={hasAll}
				ref={(box) => {
					if (box) box.indeterminate = count > 0 && !hasAll;
				}}
				onClick={({ shiftKey }) =>
					isSingle ? selection.toggle(key, shiftKey ? shownKeys : undefined) : selection.toggleAll(keys)
				}
			/>
		</label>
	);
}
