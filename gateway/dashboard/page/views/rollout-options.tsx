/** Advanced options of a rollout. Empty fields show the gateway's default. */

import type { Group, Plan } from "../../../api/client/rollout.js";
import type { PlanOptions } from "../../../api/client/rollout-plan.js";
import { Check, Days, Field, type FieldProps } from "../parts/field.js";

interface OptionsProps {
	readonly options: PlanOptions;
	readonly onChange: (change: Partial<PlanOptions>) => void;
	/** Plan with the gateway's defaults; undefined until known. */
	readonly plan: Plan | undefined;
}

type NameOf<T> = { [K in keyof PlanOptions]: PlanOptions[K] extends T ? K : never }[keyof PlanOptions];

type TextLook = readonly [
	name: NameOf<string>,
	label: string,
	hint: string,
	defaultOf?: ((plan: Plan) => string | undefined) | undefined,
	type?: FieldProps["type"],
];

const firstOf = ({ groups }: Plan) => (groups.length > 1 ? groups[0] : undefined);
const restOf = ({ groups }: Plan) => groups.at(-1);

const groupLooks: readonly TextLook[] = [
	["canary", "First group", "devices, or 5%; 0 for none", (plan) => String(firstOf(plan)?.size ?? 0)],
	["canaryFailures", "Pause after", "failures, or 10%", (plan) => thresholdOf(firstOf(plan))],
	["concurrency", "Then at a time", "devices", (plan) => restOf(plan)?.concurrency.toString()],
	["maxFailures", "Pause the rest after", "failures, or 10%", (plan) => thresholdOf(restOf(plan))],
	[
		"soakSeconds",
		"Watch each for",
		"seconds after its update",
		(plan) => restOf(plan)?.soakSeconds.toString(),
	],
	["attempts", "Attempts", "after lost connections", ({ maxAttempts }) => String(maxAttempts)],
];
const timeLooks: readonly TextLook[] = [
	["startsAt", "Start at", "empty: now", undefined, "datetime-local"],
	["deadline", "Don't start after", "empty: no deadline", undefined, "datetime-local"],
	["from", "Daily from", "empty: at any time", undefined, "time"],
	["to", "Daily to", "time zone of this computer", undefined, "time"],
];

const labels = Object.fromEntries([...groupLooks, ...timeLooks].map(([name, label]) => [name, label]));
/** Labels by the fields of a plan. */
export const optionLabels = {
	...labels,
	size: labels.canary,
	maxAttempts: labels.attempts,
	tags: "Tags",
};

export function RolloutOptions({ options, onChange, plan }: OptionsProps) {
	const fields = (looks: readonly TextLook[]) =>
		looks.map(([name, label, hint, defaultOf, type = "text"]) => (
			<Field
				key={name}
				label={label}
				hint={hint}
				type={type}
				placeholder={plan && defaultOf?.(plan)}
				value={options[name]}
				onInput={(value) => onChange({ [name]: value })}
			/>
		));
	const flag = (name: NameOf<boolean>) => ({
		checked: options[name],
		onToggle: (checked: boolean) => onChange({ [name]: checked }),
	});
	return (
		<div class="column">
			<fieldset class="fields">
				<legend>Groups</legend>
				{fields(groupLooks)}
				<Check label="Approve before continuing" {...flag("approval")} />
			</fieldset>
			<fieldset class="fields">
				<legend>Time</legend>
				{fields(timeLooks)}
				<Days days={options.days} onChange={(days) => onChange({ days })} />
			</fieldset>
			<fieldset class="fields">
				<legend>Devices</legend>
				<Check label="Allow downgrades" {...flag("allowDowngrade")} />
			</fieldset>
		</div>
	);
}

/** Error threshold: "2" or "10%". */
function thresholdOf(group: Group | undefined): string | undefined {
	if (!group) return undefined;
	const { count, percent } = group.errorThreshold;
	return count === undefined ? `${percent}%` : String(count);
}
