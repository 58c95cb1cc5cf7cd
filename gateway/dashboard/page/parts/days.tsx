/** Check boxes for the days of the week. */

import { weekdays } from "../../../api/client/rollout-plan.js";
import { capital } from "../../../api/client/words.js";
import { Check } from "./field.js";

interface DaysProps {
	readonly days: readonly string[];
	readonly onChange: (days: readonly (typeof weekdays)[number][]) => void;
}

export function Days({ days, onChange }: DaysProps) {
	return (
		<fieldset class="days" aria-label="Days">
			{weekdays.map((day) => (
				<Check
					key={day}
					label={capital(day)}
					checked={days.includes(day)}
					onToggle={() => onChange(weekdays.filter((one) => (one === day) !== days.includes(one)))}
				/>
			))}
		</fieldset>
	);
}
