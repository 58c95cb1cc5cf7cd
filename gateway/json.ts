import { type Infer, matches, type Schema } from "../device/protocol/schema.js";

/** @returns undefined if `text` is not JSON */
export function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** Those items of a list that match; none if it is no list. A damaged item must not cost the others. */
export function validItems<S extends Schema>(schema: S, value: unknown): readonly Infer<S>[] {
	return Array.isArray(value) ? value.filter((item): item is Infer<S> => matches(schema, item)) : [];
}
