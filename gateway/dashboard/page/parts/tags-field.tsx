/** Field for tag expressions, and the tags in use as buttons. */

import type { Entry } from "../../../api/client/fleet.js";
import { maxExpressionLength } from "../../../api/tags.js";
import { problemOf, tagsOf } from "../model/tags.js";
import { Field } from "./field.js";

interface TagsFieldProps {
	readonly value: string;
	/** Devices whose tags are suggested. */
	readonly entries: readonly Entry[];
	readonly onInput: (value: string) => void;
}

export function TagsField({ value, entries, onInput }: TagsFieldProps) {
	return (
		<Field
			label="Tags"
			placeholder="shop and not beta"
			maxLength={maxExpressionLength}
			value={value}
			problem={problemOf(value)}
			onInput={onInput}
		>
			<TagChips entries={entries} separator=" or " />
		</Field>
	);
}

/** Tags in use as buttons, each of which adds its tag to the field around it. */
export function TagChips({
	entries,
	separator = " ",
}: Pick<TagsFieldProps, "entries"> & { separator?: string }) {
	const tags = tagsOf(entries);
	if (tags.length === 0) return <p class="hint">No tags in use.</p>;
	return (
		<ul class="tags" aria-label="Tags in use">
			{tags.map((tag) => (
				<li key={tag}>
					<button
						type="button"
						class="tag"
						onClick={({ currentTarget }) => {
							const input = currentTarget.closest(".field")?.querySelector("input");
							if (!input) return;
							input.value = [input.value.trim(), tag].filter(Boolean).join(separator);
							input.dispatchEvent(new Event("input", { bubbles: true }));
						}}
					>
						{tag}
					</button>
				</li>
			))}
		</ul>
	);
}
