/** Tags of a device, and a field for tag expressions. */

import type { Entry } from "../../../api/client/fleet.js";
import { maxExpressionLength } from "../../../api/tags.js";
import { tagAddress } from "../app/hooks.js";
import { problemOf, tagsOf } from "../model/tags.js";
import { Field } from "./field.js";

/** Tags in one line. */
export function Tags({ tags = [] }: { readonly tags: readonly string[] | undefined }) {
	if (tags.length === 0) return null;
	return (
		<span class="tags">
			{tags.map((tag) => (
				<span key={tag} class="tag">
					{tag}
				</span>
			))}
		</span>
	);
}

/** Tags that link to the devices with that tag. */
export function TagLinks({ tags }: { readonly tags: readonly string[] }) {
	return (
		<ul class="tags" aria-label="Tags">
			{tags.map((tag) => (
				<li key={tag}>
					<a class="tag" href={tagAddress(tag)}>
						{tag}
					</a>
				</li>
			))}
		</ul>
	);
}

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
			hint={inUse(entries)}
			onInput={onInput}
		/>
	);
}

/** Lists the tags of devices: "Tags in use: beta, shop-berlin." */
export function inUse(entries: readonly Entry[]): string {
	const tags = tagsOf(entries);
	return tags.length === 0 ? "No tags in use." : `Tags in use: ${tags.join(", ")}.`;
}
