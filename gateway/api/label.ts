/** Label of a device. Storage, the page and the API documents are derived from its fields. */

import {
	changeOf,
	either,
	type Infer,
	keysOf,
	list,
	nothing,
	optional,
} from "../../device/protocol/schema.js";
import { described } from "./shapes.js";
import { maxTags, tag } from "./tags.js";
import { cleanText, cutText, freeText } from "./text.js";

const origin = "set by PATCH /api/devices/{deviceId}; absent: none";

const texts = {
	name: described(optional(freeText(64)), origin),
	room: described(optional(freeText(64)), origin),
	note: described(optional(freeText(500)), origin),
};
const tags = list(tag, maxTags);
export const label = changeOf({ ...texts, tags: described(optional(tags), origin) });
export type Label = Infer<typeof label>;
export const labelFields = keysOf(label.fields);
/** Fields of type text. */
export const labelTexts = keysOf(texts);

/** Body of `PATCH /api/devices/<id>`. An empty text removes a field; an empty list or null removes all tags. */
export const labelChange = changeOf({ ...texts, tags: optional(either(tags, nothing)) });
export type LabelChange = Infer<typeof labelChange>;

/** Empty label, shared by devices to save memory. */
export const noLabel: Label = Object.freeze({});

/** Normalizes a label: removes blank texts, unknown fields and duplicate tags, and sorts the tags. */
export function labelOf(value: LabelChange): Label {
	const cleaned: { -readonly [F in keyof Label]: Label[F] } = {};
	for (const field of labelTexts) {
		// Normalization may lengthen the text.
		const text = cutText(cleanText(value[field] ?? ""), label.fields[field].maxLength);
		if (text) cleaned[field] = text;
	}
	const some = [...new Set(value.tags)].sort();
	if (some.length > 0) cleaned.tags = some;
	return Object.keys(cleaned).length > 0 ? cleaned : noLabel;
}
