/** The label that people give a device. What the gateway stores, the page shows and the documents name follows these fields. */

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
import { tag, tagsAtMost } from "./tags.js";
import { cleanText, cutText, freeText } from "./text.js";

const given = "given by a person (PATCH /api/devices/{deviceId}); absent: none";

const texts = {
	name: described(optional(freeText(64)), given),
	room: described(optional(freeText(64)), given),
	note: described(optional(freeText(500)), given),
};
const tags = list(tag, tagsAtMost);
export const label = changeOf({ ...texts, tags: described(optional(tags), given) });
export type Label = Infer<typeof label>;
export const labelFields = keysOf(label.fields);
/** The fields that are texts. */
export const labelTexts = keysOf(texts);

/** The body of `PATCH /api/devices/<id>`. An empty text removes a field; so do no tags, and null in place of tags. */
export const labelChange = changeOf({ ...texts, tags: optional(either(tags, nothing)) });
export type LabelChange = Infer<typeof labelChange>;

/** Shared: an object of each device would take memory. */
export const noLabel: Label = Object.freeze({});

/** @returns the label without blank texts and other fields, with each tag once, in alphabetical order */
export function labelOf(value: LabelChange): Label {
	const given: { -readonly [F in keyof Label]: Label[F] } = {};
	for (const field of labelTexts) {
		// Normalised it may be longer.
		const text = cutText(cleanText(value[field] ?? ""), label.fields[field].maxLength);
		if (text) given[field] = text;
	}
	const some = [...new Set(value.tags)].sort();
	if (some.length > 0) given.tags = some;
	return Object.keys(given).length > 0 ? given : noLabel;
}
