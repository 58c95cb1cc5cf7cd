/** Tags of a device, and a field for an expression that chooses devices by them. */

import { Fragment } from "preact";
import type { Entry } from "../../../api/client/fleet.js";
import { longestExpression } from "../../../api/tags.js";
import { tagAddress } from "../app/hooks.js";
import { problemOf, tagsOf } from "../model/tags.js";
import { Field } from "./field.js";

interface TagsProps {
	readonly tags: readonly string[] | undefined;
}

/** In one line, as far as they fit. */
export function Tags({ tags = [] }: TagsProps) {
	if (tags.length === 0) return null;
	return (
		<span class="tags" title={tags.join(" ")}>
			{tags.map((tag) => (
				<Fragment key={tag}>
					<span class="tag">{tag}</span>{" "}
				</Fragment>
			))}
		</span>
	);
}

/** Each leads to the devices that have it. */
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
	/** Whose tags are named below it. */
	readonly entries: readonly Entry[];
	readonly onInput: (value: string) => void;
}

export function TagsField({ value, entries, onInput }: TagsFieldProps) {
	return (
		<Field
			label="Tags"
			placeholder="shop and not beta"
			maxLength={longestExpression}
			value={value}
			problem={problemOf(value)}
			hint={inUse(entries)}
			onInput={onInput}
		/>
	);
}

const namedAtMost = 12;

/** "In use: beta, shop-berlin" */
export function inUse(entries: readonly Entry[]): string {
	const tags = tagsOf(entries);
	const rest = tags.length > namedAtMost ? " …" : "";
	return tags.length === 0 ? "" : `In use: ${tags.slice(0, namedAtMost).join(", ")}${rest}`;
}
