/** One of several, in a list that opens. */

export type Option = readonly [value: string, text: string];

interface ChoiceProps {
	readonly label: string;
	readonly value: string;
	readonly options: readonly Option[];
	readonly onChange: (value: string) => void;
}

export function Choice({ label, value, options, onChange }: ChoiceProps) {
	return (
		<label class="choice">
			<span>{label}</span>
			<select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
				{options.map(([one, text]) => (
					<option key={one} value={one}>
						{text}
					</option>
				))}
			</select>
		</label>
	);
}

/** Those values, and "any" before them. */
export function anyOf(values: readonly string[]): readonly Option[] {
	return [["", "Any"], ...values.map((value) => [value, value] as const)];
}
