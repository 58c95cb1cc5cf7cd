/**
 * Minimal schema library. The types, the validation on both ends and the AsyncAPI document are derived from the schemas
 * in messages.ts.
 */

import { type BoardPart, hasPart, type Model, modelsWith } from "./models.js";

export { type Model, models } from "./models.js";

export interface Presence {
	readonly optional?: true;
	/** On models with this part the field is required unless optional; on others it is rejected. */
	readonly part?: BoardPart;
}

export type StringSchema = Presence & {
	readonly type: "string";
	/** Absent: any string. */
	readonly values?: readonly string[];
	/** Maximum length in code points. */
	readonly maxLength?: number;
	/** Source of a regular expression, since a preloaded module cannot hold a RegExp. */
	readonly pattern?: string;
	/** Description of `pattern` in errors. */
	readonly form?: string;
	/** Entered by a person: normalized by the gateway (gateway/api/text.ts), which XS cannot do. */
	readonly isFreeText?: true;
};
export type NumberSchema = Presence & {
	readonly type: "integer" | "number";
	readonly minimum: number;
	readonly maximum: number;
};
export type BooleanSchema = Presence & { readonly type: "boolean" };
export type ObjectSchema = Presence & {
	readonly type: "object";
	readonly fields: Readonly<Record<string, Schema>>;
	/** Whether at least one field is required, and unknown fields are rejected. */
	readonly isChange?: true;
};
export type ListSchema = Presence & {
	readonly type: "list";
	readonly item: Schema;
	/** Absent: 0. */
	readonly minItems?: number;
	readonly maxItems: number;
};
export type NullSchema = Presence & { readonly type: "null" };
type PlainSchema = StringSchema | NumberSchema | BooleanSchema | ObjectSchema | ListSchema | NullSchema;
/** Value that matches one of several schemas. */
export type EitherSchema = Presence & { readonly type: "either"; readonly of: readonly PlainSchema[] };
export type Schema = PlainSchema | EitherSchema;

type MayBeAbsent<S> = S extends { readonly optional: true } | { readonly part: BoardPart } ? true : false;
type Fields<F> = {
	readonly [K in keyof F as MayBeAbsent<F[K]> extends true ? never : K]: Infer<F[K]>;
} & {
	readonly [K in keyof F as MayBeAbsent<F[K]> extends true ? K : never]?: Infer<F[K]>;
};

/** TypeScript type of the values that match a schema. */
export type Infer<S> = S extends { readonly values: readonly (infer V)[] }
	? V
	: S extends { readonly type: "string" }
		? string
		: S extends { readonly type: "integer" | "number" }
			? number
			: S extends { readonly type: "null" }
				? null
				: S extends { readonly of: readonly (infer O)[] }
					? Infer<O>
					: InferOther<S>;

type InferOther<S> = S extends { readonly type: "boolean" }
	? boolean
	: S extends { readonly item: infer I }
		? readonly Infer<I>[]
		: S extends { readonly fields: infer F }
			? { readonly [K in keyof Fields<F>]: Fields<F>[K] }
			: never;

/** Like Infer, but every optional field must be listed, if only as undefined, which JSON omits. */
export type Complete<S> = S extends { readonly fields: infer F }
	? {
			readonly [K in keyof F]: Complete<F[K]> | (MayBeAbsent<F[K]> extends true ? undefined : never);
		}
	: Infer<S>;

export function oneOf<const V extends readonly string[]>(...values: V) {
	return Object.freeze({ type: "string", values: Object.freeze(values) } as const);
}

/** @param maxLength in code points */
export function string(maxLength: number) {
	return Object.freeze({ type: "string", maxLength } as const);
}

/** @param form describes the regular expression `source` in an error */
export function pattern(maxLength: number, source: string, form: string) {
	return Object.freeze({ type: "string", maxLength, pattern: source, form } as const);
}

/** Both limits are inclusive. */
export function integer(minimum: number, maximum: number) {
	return Object.freeze({ type: "integer", minimum, maximum } as const);
}

/** Both limits are inclusive. */
export function float(minimum: number, maximum: number) {
	return Object.freeze({ type: "number", minimum, maximum } as const);
}

export function boolean() {
	return Object.freeze({ type: "boolean" } as const);
}

export function list<const S extends Schema>(item: S, maxItems: number, minItems = 0) {
	return Object.freeze({ type: "list", item, maxItems, minItems } as const);
}

/** Schema of values that match one of several schemas. */
export function either<const S extends readonly PlainSchema[]>(...of: S) {
	return Object.freeze({ type: "either", of: Object.freeze(of) } as const);
}

export const nothing = Object.freeze({ type: "null" } as const);

/** Schema of an object. Unknown fields are ignored, for compatibility with newer peers. */
export function object<const F extends Readonly<Record<string, Schema>>>(fields: F) {
	return Object.freeze({ type: "object", fields: Object.freeze(fields) } as const);
}

/** Schema of a change: at least one of the fields, and no unknown one, since a misspelled name must not be ignored. */
export function changeOf<const F extends Readonly<Record<string, Schema & { readonly optional: true }>>>(
	fields: F,
) {
	return Object.freeze({ type: "object", fields: Object.freeze(fields), isChange: true } as const);
}

export function optional<S extends { readonly type: string }>(schema: S) {
	const present: S & { readonly optional: true } = { ...schema, optional: true };
	return Object.freeze(present);
}

export function withPart<P extends BoardPart, S extends Schema>(part: P, schema: S) {
	const restricted: S & { readonly part: P } = { ...schema, part };
	return Object.freeze(restricted);
}

export interface Problem {
	/** Field names and indexes joined by dots, e.g. `peripherals.audio.volume` or `groups.0.percent`; empty for the value itself. */
	readonly path: string;
	readonly expected: string;
}

/** E.g. "peripherals.audio.volume must be an integer from 0 to 100". */
export function describeProblem(problem: Problem | undefined): string {
	return problem ? `${problem.path || "it"} ${problem.expected}` : "nothing is wrong";
}

/**
 * @param model determines which parts exist; undefined: their fields are optional
 * @returns the first problem; undefined if the value matches
 */
export function findProblem(schema: Schema, value: unknown, model?: Model): Problem | undefined {
	switch (schema.type) {
		case "string":
			return typeof value === "string" && isAllowedText(schema, value) ? undefined : expected(schema);
		case "integer":
		case "number":
			return typeof value === "number" &&
				value >= schema.minimum &&
				value <= schema.maximum &&
				(schema.type === "number" || Number.isInteger(value))
				? undefined
				: expected(schema);
		case "boolean":
			return typeof value === "boolean" ? undefined : expected(schema);
		case "object":
			if (!isRecord(value) || (schema.isChange && !isChangeOf(schema.fields, value))) return expected(schema);
			return findProblemInFields(schema.fields, value, model);
		case "list":
			if (!Array.isArray(value) || value.length > schema.maxItems || value.length < (schema.minItems ?? 0))
				return expected(schema);
			return findProblemInItems(schema.item, value, model);
		case "null":
			return value === null ? undefined : expected(schema);
		case "either":
			return findProblemInEach(schema, value, model);
	}
}

export function matches<S extends Schema>(schema: S, value: unknown, model?: Model): value is Infer<S> {
	return findProblem(schema, value, model) === undefined;
}

/** Parses JSON. @returns undefined if it is invalid or does not match */
export function parseAs<S extends Schema>(schema: S, text: string): Infer<S> | undefined {
	try {
		const value: unknown = JSON.parse(text);
		return matches(schema, value) ? value : undefined;
	} catch {
		return undefined;
	}
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @returns the table's own entry, if any; safe for untrusted names such as `constructor` */
export function entryOf<V>(table: Readonly<Record<string, V>>, name: string): V | undefined {
	return Object.hasOwn(table, name) ? table[name] : undefined;
}

export function keysOf<K extends string>(table: Readonly<Record<K, unknown>>): readonly K[] {
	const keys: K[] = [];
	for (const key in table) keys.push(key);
	return keys;
}

function findProblemInFields(
	fields: ObjectSchema["fields"],
	value: Readonly<Record<string, unknown>>,
	model: Model | undefined,
): Problem | undefined {
	for (const name in fields) {
		const field = fields[name];
		if (field === undefined) continue;
		const member = value[name];
		if (member === undefined) {
			if (field.optional || (field.part && !(model && hasPart(model, field.part)))) continue;
			return { path: name, expected: "is missing" };
		}
		if (field.part && model && !hasPart(model, field.part))
			return { path: name, expected: `exists on ${modelsWith(field.part)} only` };
		const problem = findProblem(field, member, model);
		if (problem) return within(name, problem);
	}
	return undefined;
}

function findProblemInItems(
	item: Schema,
	values: readonly unknown[],
	model: Model | undefined,
): Problem | undefined {
	for (let index = 0; index < values.length; index += 1) {
		const problem = findProblem(item, values[index], model);
		if (problem) return within(String(index), problem);
	}
	return undefined;
}

/** Prefers a problem within a value of the right type, which is more specific than a list of the types. */
function findProblemInEach(
	schema: EitherSchema,
	value: unknown,
	model: Model | undefined,
): Problem | undefined {
	let inner: Problem | undefined;
	for (const option of schema.of) {
		const problem = findProblem(option, value, model);
		if (!problem) return undefined;
		if (problem.path !== "") inner = problem;
	}
	return inner ?? expected(schema);
}

function within(name: string, { path, expected }: Problem): Problem {
	return { path: path ? `${name}.${path}` : name, expected };
}

function isChangeOf(fields: ObjectSchema["fields"], value: Readonly<Record<string, unknown>>): boolean {
	let count = 0;
	for (const name in value) {
		if (!Object.hasOwn(fields, name)) return false;
		count += 1;
	}
	return count > 0;
}

function isAllowedText(schema: StringSchema, value: string): boolean {
	if (schema.values) return schema.values.includes(value);
	if (schema.maxLength !== undefined && isLonger(value, schema.maxLength)) return false;
	return schema.pattern === undefined || new RegExp(schema.pattern).test(value);
}

/** Counts code points one by one, since an array of them could exceed a board's memory. */
function isLonger(value: string, maxLength: number): boolean {
	// `length` counts UTF-16 units, in XS code points: never fewer than code points.
	if (value.length <= maxLength) return false;
	let count = 0;
	for (const _character of value) {
		count += 1;
		if (count > maxLength) return true;
	}
	return false;
}

function expected(schema: Schema): Problem {
	return { path: "", expected: `must be ${describeSchema(schema)}` };
}

function describeSchema(schema: Schema): string {
	switch (schema.type) {
		case "string":
			if (schema.values)
				return schema.values.length === 1 ? `"${schema.values[0]}"` : `one of ${schema.values.join(", ")}`;
			return `${schema.form ?? "a string"} of at most ${schema.maxLength} characters`;
		case "integer":
			return `an integer from ${schema.minimum} to ${schema.maximum}`;
		case "number":
			return `a number from ${schema.minimum} to ${schema.maximum}`;
		case "boolean":
			return "true or false";
		case "object":
			return schema.isChange
				? `an object with at least one of ${Object.keys(schema.fields).join(", ")}, and nothing else`
				: "an object";
		case "list":
			return schema.minItems === schema.maxItems
				? `a list of ${schema.maxItems}`
				: `a list of ${schema.minItems ? `${schema.minItems} to` : "at most"} ${schema.maxItems}`;
		case "null":
			return "null";
		case "either":
			return schema.of.map(describeSchema).join(", or ");
	}
}
