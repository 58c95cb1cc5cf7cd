/** Radio buttons as cards with a title and a line of text. */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface CardsProps<T extends string> {
	readonly label: string;
	readonly options: readonly (readonly [value: T, title: ComponentChildren, text?: ComponentChildren])[];
	readonly value: T;
	readonly onChange: (value: T) => void;
}

export function Cards<T extends string>({ label, options, value, onChange }: CardsProps<T>) {
	const name = useId();
	return (
		<fieldset class="cards">
			<legend class="visually-hidden">{label}</legend>
			{options.map(([option, title, text]) => (
				<label key={option}>
					<input type="radio" name={name} checked={option === value} onChange={() => onChange(option)} />
					<span>
						<b>{title}</b>
						{text && <span class="hint">{text}</span>}
					</span>
				</label>
			))}
		</fieldset>
	);
}
