import { type Infer, isRecord, matches, object, type Schema } from "../device/protocol/schema.js";

/** @returns undefined if `text` is not JSON */
export function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** An object whose fields its reader checks. */
export const anyObject = object({});

/**
 * What a schema defines of a value from outside: other fields are neither stored, sent on nor in the audit. What the check is to refuse
 * stays, such as an unknown field of a change.
 */
export function pick(schema: Schema, value: unknown): unknown {
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
