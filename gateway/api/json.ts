import { type Infer, isRecord, matches, object, type Schema } from "../../device/protocol/schema.js";
import { cleanFreeText } from "./text.js";

/** An escape, or two that are a surrogate pair; $1: a half of a pair without the other. */
const escapes = /\\(?:ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|(ud[89a-f][\da-f]{2})|.)/gis;

/** @returns JSON with U+FFFD for each escape of half a surrogate pair (RFC 8259, 8.2): UTF-8 and percent-encoding have no form for it */
export function wellFormedJson(text: string): string {
	if (!/\\ud[89a-f]/i.test(text)) return text;
	return text.replace(escapes, (found, half) => (half === undefined ? found : "\\ufffd"));
}

/** @returns undefined if `text` is not JSON */
export function parseJson(text: string): unknown {
	try {
		return JSON.parse(wellFormedJson(text));
	} catch {
		return undefined;
	}
}

/** An object whose fields its reader checks. */
export const anyObject = object({});

/**
 * What a schema defines of a value from outside, with clean texts: other fields are neither stored, sent on nor in the audit. What the
 * check is to refuse stays, such as an unknown field of a change.
 */
export function pick(schema: Schema, value: unknown): unknown {
	if (schema.type === "string")
		return schema.isFreeText && typeof value === "string"
			? cleanFreeText(value, schema.maxLength ?? 0)
			: value;
	if (schema.type === "list")
		return Array.isArray(value) ? value.map((item) => pick(schema.item, item)) : value;
	if (schema.type !== "object" || !isRecord(value) || schema === anyObject) return value;
	const picked: Record<string, unknown> = schema.isChange ? { ...value } : {};
	for (const [name, field] of Object.entries(schema.fields))
		if (value[name] !== undefined) picked[name] = pick(field, value[name]);
	return picked;
}

/** Those items of a list that match; none if it is no list. A damaged item must not cost the others. */
export function validItems<S extends Schema>(schema: S, value: unknown): readonly Infer<S>[] {
	return Array.isArray(value) ? value.filter((item): item is Infer<S> => matches(schema, item)) : [];
}
