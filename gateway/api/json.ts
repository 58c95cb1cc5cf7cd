import {
	type Infer,
	isRecord,
	matches,
	object,
	optional,
	type Schema,
} from "../../device/protocol/schema.js";
import type { Shape } from "./shapes.js";
import { cleanFreeText } from "./text.js";

/** Escape sequence, or two that form a surrogate pair; $1: lone surrogate. */
const escapes = /\\(?:ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|(ud[89a-f][\da-f]{2})|.)/gis;

/** Replaces each escaped lone surrogate (RFC 8259, 8.2) with U+FFFD, since UTF-8 and percent-encoding cannot represent it. */
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

/** Object whose fields are validated separately. */
export const anyObject = object({});

type AllOptional<F> = { readonly [K in keyof F]: F[K] & { readonly optional: true } };

/** Makes all fields of a schema or shape optional. */
export function allOptional<const F extends Readonly<Record<string, Shape>>>(fields: F): AllOptional<F>;
export function allOptional(fields: Readonly<Record<string, Shape>>): Readonly<Record<string, Shape>> {
	return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, optional(field)]));
}

/** Schema of an object without other fields. */
export function strict<const F extends Readonly<Record<string, Schema>>>(fields: F) {
	return Object.freeze({ ...object(fields), isChange: true } as const);
}

/**
 * Returns the fields of an external value that a schema defines, with normalized texts. Other fields are not stored,
 * forwarded or audited. Keeps what validation rejects, such as unknown fields of a change.
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

/** Returns the valid items of a list; none if it is not a list. An invalid item does not affect the others. */
export function validItems<S extends Schema>(schema: S, value: unknown): readonly Infer<S>[] {
	return Array.isArray(value) ? value.filter((item): item is Infer<S> => matches(schema, item)) : [];
}
