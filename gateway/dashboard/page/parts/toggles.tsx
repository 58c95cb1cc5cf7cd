/** Buttons side by side, of which at most one is on. */

import type { ComponentChildren } from "preact";

interface TogglesProps<T extends string> {
	readonly label: string;
	/** A class: how they look as a whole. */
	readonly look?: string;
	readonly options: readonly (readonly [value: T, text: ComponentChildren])[];
	readonly value: T | "" | undefined;
	readonly onChange: (value: T) => void;
}

export function Toggles<T extends string>({ label, look, options, value, onChange }: TogglesProps<T>) {
	return (
		<fieldset class={look ?? "segments"} aria-label={label}>
			{options.map(([one, text]) => (
				<button
					key={one}
					type="button"
					class="small"
					aria-pressed={one === value}
					onClick={() => onChange(one)}
				>
					{text}
				</button>
			))}
		</fieldset>
	);
}
