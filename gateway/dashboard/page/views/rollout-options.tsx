/** The further options of a roll-out. What is left empty shows the gateway's default. */

import type { Group, Plan } from "../../../api/client/rollout.js";
import { type PlanOptions, weekdays } from "../../../api/client/rollout-plan.js";
import { Check, Field } from "../parts/field.js";

interface OptionsProps {
	readonly options: PlanOptions;
	readonly onChange: (change: Partial<PlanOptions>) => void;
	/** Whether the target is all devices of a model. */
	readonly isOfModel: boolean;
	/** As the gateway would carry it out, with its defaults; undefined: not known yet. */
	readonly plan: Plan | undefined;
}

type TextOption = { [K in keyof PlanOptions]: PlanOptions[K] extends string ? K : never }[keyof PlanOptions];
type Flag = { [K in keyof PlanOptions]: PlanOptions[K] extends boolean ? K : never }[keyof PlanOptions];

export function RolloutOptions({ options, onChange, isOfModel, plan }: OptionsProps) {
	const rest = plan?.groups.at(-1);
	const first = plan && plan.groups.length > 1 ? plan.groups[0] : undefined;
	const text = (name: TextOption) => ({
		value: options[name],
		onInput: (value: string) => onChange({ [name]: value }),
	});
	const flag = (name: Flag) => ({
		checked: options[name],
		onToggle: (checked: boolean) => onChange({ [name]: checked }),
	});
	const toggleDay = (day: string) => {
		const days = weekdays.filter((one) => (one === day) !== options.days.includes(one));
		onChange({ days });
	};
	return (
		<div class="options">
			<fieldset class="fields">
				<legend>Groups</legend>
				<Field
					label="First group"
					hint="devices, or 5%; 0: none"
					{...text("canary")}
					placeholder={first ? String(first.size) : plan && "0"}
				/>
				<Field
					label="Stop it after"
					hint="failures, or 10%"
					{...text("canaryFailures")}
					placeholder={thresholdOf(first)}
				/>
				<Field
					label="Then at a time"
					hint="devices"
					{...text("concurrency")}
					placeholder={rest && String(rest.concurrency)}
				/>
				<Field
					label="Stop the rest after"
					hint="failures, or 10%"
					{...text("maxFailures")}
					placeholder={thresholdOf(rest)}
				/>
				<Field
					label="Watch each for"
					hint="seconds after its update"
					{...text("soakSeconds")}
					placeholder={rest && String(rest.soakSeconds)}
				/>
				<Field
					label="Attempts"
					hint="where the connection is lost"
					{...text("attempts")}
					placeholder={plan && String(plan.maxAttempts)}
				/>
				<Check label="Wait for an approval after the first group" {...flag("approval")} />
			</fieldset>
			<fieldset class="fields">
				<legend>Time</legend>
				<Field label="Begin at" hint="empty: at once" type="datetime-local" {...text("startsAt")} />
				<Field label="Begin none after" hint="empty: no end" type="datetime-local" {...text("deadline")} />
				<Field label="Daily from" hint="empty: at any time" type="time" {...text("from")} />
				<Field label="Daily to" hint="by this computer's clock" type="time" {...text("to")} />
				<fieldset class="days" aria-label="Days">
					{weekdays.map((day) => (
						<Check
							key={day}
							label={day.charAt(0).toUpperCase() + day.slice(1)}
							checked={options.days.includes(day)}
							onToggle={() => toggleDay(day)}
						/>
					))}
				</fieldset>
			</fieldset>
			<fieldset class="fields">
				<legend>Devices</legend>
				{isOfModel && <Check label="Also those that join later" {...flag("joinLater")} />}
				<Check label="Allow downgrades" {...flag("allowDowngrade")} />
			</fieldset>
		</div>
	);
}

/** "2", "10%" */
function thresholdOf(group: Group | undefined): string | undefined {
	if (!group) return undefined;
	const { count, percent } = group.errorThreshold;
	return count === undefined ? `${percent}%` : String(count);
}
