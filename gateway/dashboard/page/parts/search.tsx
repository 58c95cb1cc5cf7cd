/** Elements of toolbars: segmented control and search field. */

import type { ComponentChildren } from "preact";

/** Choice of one of several values. @template V type of the present value */
export interface ChoiceProps<T extends string, V = T> {
	/** Accessible name, or visible label. */
	readonly label: string;
	readonly options: readonly (readonly [value: T, text: ComponentChildren, details?: ComponentChildren])[];
	readonly value: V;
	readonly onChange: (value: T) => void;
}

interface TogglesProps<T extends string> extends ChoiceProps<T, T | "" | undefined> {
	/** Class. */
	readonly look?: string;
	readonly disabled?: boolean;
}

/** Segmented control: buttons of which at most one is pressed. */
export function Toggles<T extends string>(props: TogglesProps<T>) {
	const { label, look = "segments", options, value, disabled = false, onChange } = props;
	return (
		<fieldset class={look} aria-label={label} disabled={disabled}>
			{options.map(([option, text]) => (
				<button
					key={option}
					type="button"
					class="small"
					aria-pressed={option === value}
					onClick={() => onChange(option)}
				>
					{text}
				</button>
			))}
		</fieldset>
	);
}

interface SearchProps {
	readonly label: string;
	readonly placeholder: string;
	readonly value: string;
	readonly onInput: (value: string) => void;
	readonly onKeyDown?: (event: KeyboardEvent) => void;
}

export function Search({ label, placeholder, value, onInput, onKeyDown }: SearchProps) {
	return (
		<label class="find">
			<span class="visually-hidden">{label}</span>
			<input
				type="search"
				placeholder={placeholder}
				value={value}
				onInput={({ currentTarget }) => onInput(currentTarget.value)}
				onKeyDown={onKeyDown}
			/>
		</label>
	);
}
