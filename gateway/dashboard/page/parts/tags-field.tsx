/** Field for tag expressions, with the tags in use. */

import type { Entry } from "../../../api/client/fleet.js";
import { maxExpressionLength } from "../../../api/tags.js";
import { problemOf, tagsInUse } from "../model/tags.js";
import { Field } from "./field.js";

interface TagsFieldProps {
	readonly value: string;
	/** Devices whose tags are named. */
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
			hint={tagsInUse(entries)}
			onInput={onInput}
		/>
	);
}
