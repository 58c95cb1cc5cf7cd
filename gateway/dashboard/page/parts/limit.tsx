/** A number that may be left out: a check, and a slider while it is checked. */

import { Check } from "./field.js";
import { Slider } from "./slider.js";

interface LimitProps {
	/** Of the check. */
	readonly text: string;
	/** Of the slider. */
	readonly label: string;
	/** 0 to 100; undefined: left out. */
	readonly value: number | undefined;
	/** With which it begins. */
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
