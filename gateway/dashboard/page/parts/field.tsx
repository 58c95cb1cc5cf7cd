/** Form and toolbar elements: fields with label, hint and validation error, check boxes, choices and search. */

import { type ComponentChildren, h } from "preact";
import { useId, useState } from "preact/hooks";
import { weekdays } from "../../../api/client/rollout-plan.js";
import { capital } from "../../../api/client/words.js";
import { Problem } from "./problem.js";
import type { ChoiceProps } from "./search.js";

export { Search, Toggles } from "./search.js";

export interface FieldProps {
	readonly label: string;
	/** `lines` is a text area; a password can be revealed. */
	readonly type?: "text" | "password" | "lines" | "number" | "time" | "datetime-local";
	readonly value: string;
	readonly placeholder?: string | undefined;
	readonly maxLength?: number;
	/** Range of a number. */
	readonly range?: readonly [min: number, max: number];
	/** Suggested values. */
	readonly known?: readonly string[];
	readonly hint?: ComponentChildren;
	readonly problem?: string | undefined;
	readonly onInput: (value: string) => unknown;
	/** Content below the field. */
	readonly children?: ComponentChildren;
}

export function Field(props: FieldProps) {
	const { label, type = "text", value, known, hint, problem, onInput, children } = props;
	const { placeholder, maxLength, range: [min, max] = [] } = props;
	const id = useId();
	const [isShown, setIsShown] = useState(false);
	const described = [problem && `${id}-problem`, hint && `${id}-hint`].filter(Boolean).join(" ");
	const isSecret = type === "password";
	const attributes = {
		id,
		value,
		placeholder,
		maxLength,
		"aria-describedby": described || undefined,
		"aria-invalid": problem ? true : undefined,
		spellcheck: false,
		autocapitalize: "off",
		onInput: ({ currentTarget }: { currentTarget: { value: string } }) => onInput(currentTarget.value),
	} as const;
	// JSX types do not accept a variable input type.
	const input = h("input", {
		...attributes,
		type: isSecret && isShown ? "text" : type,
		autocomplete: isSecret && !isShown ? "new-password" : "off",
		list: known && `${id}-known`,
		min,
		max,
	});
	return (
		<div class={`field ${type === "lines" ? "long" : ""}`}>
			<label for={id}>{label}</label>
			{type === "lines" ? (
				<textarea {...attributes} rows={4} />
			) : isSecret ? (
				<div class="secret">
					{input}
					<button
						type="button"
						class="quiet small"
						aria-pressed={isShown}
						aria-controls={id}
						onClick={() => setIsShown(!isShown)}
					>
						Show
					</button>
				</div>
			) : (
				input
			)}
			{known && (
				<datalist id={`${id}-known`}>
					{known.map((suggestion) => (
						<option key={suggestion} value={suggestion} />
					))}
				</datalist>
			)}
			<Problem id={`${id}-problem`}>{problem}</Problem>
			{hint && (
				<p class="hint" id={`${id}-hint`}>
					{hint}
				</p>
			)}
			{children}
		</div>
	);
}

interface CheckProps {
	readonly label: string;
	readonly checked: boolean;
	readonly disabled?: boolean;
	readonly onToggle: (checked: boolean) => void;
}

export function Check({ label, checked, disabled = false, onToggle }: CheckProps) {
	return (
		<label class="check">
			<input
				type="checkbox"
				disabled={disabled}
				checked={checked}
				onChange={({ currentTarget }) => onToggle(currentTarget.checked)}
			/>
			<span>{label}</span>
		</label>
	);
}

interface DaysProps {
	readonly days: readonly string[];
	readonly onChange: (days: readonly (typeof weekdays)[number][]) => void;
}

/** Check boxes for the days of the week. */
export function Days({ days, onChange }: DaysProps) {
	return (
		<fieldset class="days" aria-label="Days">
			{weekdays.map((day) => (
				<Check
					key={day}
					label={capital(day)}
					checked={days.includes(day)}
					onToggle={() => onChange(weekdays.filter((other) => (other === day) !== days.includes(other)))}
				/>
			))}
		</fieldset>
	);
}

export type Option = readonly [value: string, text: string];

/** Select element. */
export function Choice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
	return (
		<label class="choice">
			<span>{label}</span>
			<select
				value={value}
				onChange={({ currentTarget: { selectedIndex } }) => onChange(options[selectedIndex]?.[0] ?? value)}
			>
				{options.map(([option, text]) => (
					<option key={option} value={option}>
						{text}
					</option>
				))}
			</select>
		</label>
	);
}

/** Radio buttons as cards, with details below the text. */
export function Cards<T extends string>({ label, options, value, onChange }: ChoiceProps<T>) {
	const name = useId();
	return (
		<fieldset class="cards">
			<legend class="visually-hidden">{label}</legend>
			{options.map(([option, text, details]) => (
				<label key={option}>
					<input type="radio" name={name} checked={option === value} onChange={() => onChange(option)} />
					<span>
						<b>{text}</b>
						{details && <span class="hint">{details}</span>}
					</span>
				</label>
			))}
		</fieldset>
	);
}
