/** The further options of a roll-out. The gateway has a default for each. */

import { useId } from "preact/hooks";
import { type PlanOptions, weekdays } from "../../../api/client/rollout-plan.js";

interface OptionsProps {
	readonly options: PlanOptions;
	readonly onChange: (change: Partial<PlanOptions>) => void;
	/** Whether the target is all devices of a model. */
	readonly isOfModel: boolean;
}

type TextOption = { [K in keyof PlanOptions]: PlanOptions[K] extends string ? K : never }[keyof PlanOptions];
type Flag = { [K in keyof PlanOptions]: PlanOptions[K] extends boolean ? K : never }[keyof PlanOptions];

export function RolloutOptions({ options, onChange, isOfModel }: OptionsProps) {
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
				<Text label="First group" hint="devices, or 5%; 0: none" {...text("canary")} />
				<Text label="Stop it after" hint="failures, or 10%" {...text("canaryFailures")} />
				<Text label="Then at a time" hint="devices" {...text("concurrency")} />
				<Text label="Stop the rest after" hint="failures, or 10%" {...text("maxFailures")} />
				<Text label="Watch each for" hint="seconds after its update" {...text("soakSeconds")} />
				<Text label="Attempts" hint="where the connection is lost" {...text("attempts")} />
				<Check label="Wait for an approval after the first group" {...flag("approval")} />
			</fieldset>
			<fieldset class="fields">
				<legend>Time</legend>
				<Text label="Begin at" type="datetime-local" {...text("startsAt")} />
				<Text label="Begin none after" type="datetime-local" {...text("deadline")} />
				<Text label="Daily from" type="time" {...text("from")} />
				<Text label="Daily to" type="time" {...text("to")} />
				<fieldset class="days" aria-label="Days">
					{weekdays.map((day) => (
						<label key={day} class="check">
							<input type="checkbox" checked={options.days.includes(day)} onChange={() => toggleDay(day)} />
							<span>{day.charAt(0).toUpperCase() + day.slice(1)}</span>
						</label>
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

interface TextProps {
	readonly label: string;
	readonly hint?: string;
	readonly type?: "text" | "time" | "datetime-local";
	readonly value: string;
	readonly onInput: (value: string) => void;
}

function Text({ label, hint, type = "text", value, onInput }: TextProps) {
	const id = useId();
	const common = {
		id,
		value,
		...(hint && { "aria-describedby": `${id}-hint` }),
		onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) => onInput(currentTarget.value),
	};
	return (
		<div class="field">
			<label for={id}>{label}</label>
			{type === "text" ? <input type="text" {...common} /> : <input type={type} {...common} />}
			{hint && (
				<span id={`${id}-hint`} class="hint">
					{hint}
				</span>
			)}
		</div>
	);
}

interface CheckProps {
	readonly label: string;
	readonly checked: boolean;
	readonly onToggle: (checked: boolean) => void;
}

function Check({ label, checked, onToggle }: CheckProps) {
	return (
		<label class="check">
			<input type="checkbox" checked={checked} onChange={() => onToggle(!checked)} />
			<span>{label}</span>
		</label>
	);
}
