/** The label that people give a device. What the gateway stores, the page shows and the documents name follows these fields. */

import { changeOf, type Infer, keysOf, optional } from "../../device/protocol/schema.js";
import { described } from "./shapes.js";
import { cleanText, cutText, freeText } from "./text.js";

const given = "given by a person (PATCH /api/devices/{deviceId}); absent: none";

export const label = changeOf({
	name: described(optional(freeText(64)), given),
	room: described(optional(freeText(64)), given),
	note: described(optional(freeText(500)), given),
});
export type Label = Infer<typeof label>;
export const labelFields = keysOf(label.fields);

/** Shared: an object of each device would take memory. */
export const noLabel: Label = Object.freeze({});

/** @returns the label without blank texts and other fields */
export function labelOf(value: Label): Label {
	const given: { -readonly [F in keyof Label]: Label[F] } = {};
	for (const field of labelFields) {
		// Normalised it may be longer.
		const text = cutText(cleanText(value[field] ?? ""), label.fields[field].maxLength);
		if (text) given[field] = text;
	}
	return Object.keys(given).length > 0 ? given : noLabel;
}
