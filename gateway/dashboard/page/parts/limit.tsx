/** Optional number: a check box with a slider while it is checked. */

import { Check } from "./field.js";
import { Slider } from "./slider.js";

interface LimitProps {
	/** Label of the check box. */
	readonly text: string;
	/** Label of the slider. */
	readonly label: string;
	/** 0 to 100; undefined if unchecked. */
	readonly value: number | undefined;
	/** Initial value of the slider. */
	readonly usual: number;
	readonly onChange: (value: number | undefined) => void;
}

export function Limit({ text, label, value, usual, onChange }: LimitProps) {
	return (
		<>
			<Check
				label={text}
				checked={value !== undefined}
				onToggle={(checked) => onChange(checked ? usual : undefined)}
			/>
			{value !== undefined && <Slider label={label} value={value} onChange={onChange} />}
		</>
	);
}
