/**
 * The small language in which messages.ts describes every message, and the check that goes with it. Types, the
 * device's check, the gateway's check and the AsyncAPI document all come from one table, so they cannot drift apart.
 */

/** The hardware models of the interface specification, section 1. */
export const models = Object.freeze(["DEV-1", "PROTO-1"] as const);
export type Model = (typeof models)[number];

interface Presence {
	/** The field may be left out. */
	readonly optional?: true;
	/** The field, or command, exists on this model alone: required there, refused elsewhere. */
	readonly only?: Model;
}

export type StringSchema = Presence & {
	readonly type: "string";
	/** The strings that are allowed; absent, any is. */
	readonly values?: readonly string[];
	/** In code points. */
	readonly maxLength?: number;
	/** Source of a regular expression: a RegExp object may not live in a preloaded module. */
	readonly pattern?: string;
	/** Says in words what `pattern` means. */
	readonly form?: string;
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
};
export type Schema = StringSchema | NumberSchema | BooleanSchema | ObjectSchema;

type MayBeAbsent<S> = S extends { readonly optional: true } | { readonly only: Model } ? true : false;
type Fields<F> = {
	readonly [K in keyof F as MayBeAbsent<F[K]> extends true ? never : K]: Value<F[K]>;
} & {
	readonly [K in keyof F as MayBeAbsent<F[K]> extends true ? K : never]?: Value<F[K]>;
};

/** The TypeScript type of what a schema accepts. */
export type Value<S> = S extends { readonly values: readonly (infer V)[] }
	? V
	: S extends { readonly type: "string" }
		? string
		: S extends { readonly type: "integer" | "number" }
			? number
			: S extends { readonly type: "boolean" }
				? boolean
				: S extends { readonly fields: infer F }
					? { readonly [K in keyof Fields<F>]: Fields<F>[K] }
					: never;

/** One of the given strings. */
export function oneOf<const V extends readonly string[]>(...values: V) {
	return Object.freeze({ type: "string", values: Object.freeze(values) } as const);
}

/** Any string of at most `maxLength` characters. */
export function text(maxLength: number) {
	return Object.freeze({ type: "string", maxLength } as const);
}

/** A string that matches the regular expression `pattern`; `form` names that in an error. */
export function formed(maxLength: number, pattern: string, form: string) {
	return Object.freeze({ type: "string", maxLength, pattern, form } as const);
}

/** A whole number from `minimum` to `maximum`, both allowed. */
export function integer(minimum: number, maximum: number) {
	return Object.freeze({ type: "integer", minimum, maximum } as const);
}

/** A finite number from `minimum` to `maximum`, both allowed. */
export function float(minimum: number, maximum: number) {
	return Object.freeze({ type: "number", minimum, maximum } as const);
}

export function boolean() {
	return Object.freeze({ type: "boolean" } as const);
}

/** An object with these fields. Others are let through unread, so that an older peer understands a newer one. */
export function object<const F extends Readonly<Record<string, Schema>>>(fields: F) {
	return Object.freeze({ type: "object", fields: Object.freeze(fields) } as const);
}

export function optional<S extends Schema>(schema: S) {
	const present: S & { readonly optional: true } = { ...schema, optional: true };
	return Object.freeze(present);
}

/** Marks what exists on one model alone. */
export function only<M extends Model, S extends Schema>(model: M, schema: S) {
	const restricted: S & { readonly only: M } = { ...schema, only: model };
	return Object.freeze(restricted);
}

/** What is wrong with a value, and where: `peripherals.audio.volume`, `must be an integer from 0 to 100`. */
export interface Problem {
	/** Field names joined by dots; empty where the value itself is meant. */
	readonly path: string;
	readonly expected: string;
}

/** "peripherals.audio.volume must be an integer from 0 to 100" */
export function describeProblem(problem: Problem | undefined): string {
	return problem ? `${problem.path || "it"} ${problem.expected}` : "nothing is wrong";
}

/**
 * Finds the first thing about `value` that `schema` does not allow.
 *
 * @param model decides about fields that one model alone has; undefined: such a field may be there or not
 * @returns undefined where the value is as described
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
			return isRecord(value) ? findProblemInFields(schema.fields, value, model) : expected(schema);
	}
}

/** Whether `value` is as `schema` describes it; findProblem says why not. */
export function matches<S extends Schema>(schema: S, value: unknown, model?: Model): value is Value<S> {
	return findProblem(schema, value, model) === undefined;
}

/** Whether `value` is an object whose fields can be asked for: neither null nor an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

function findProblemInFields(
	fields: ObjectSchema["fields"],
	value: Readonly<Record<string, unknown>>,
	model: Model | undefined,
): Problem | undefined {
	for (const name in fields) {
		const field = fields[name];
		if (field === undefined) continue;
		const given = value[name];
		if (given === undefined) {
			if (field.optional || (field.only && field.only !== model)) continue;
			return { path: name, expected: "is missing" };
		}
		if (field.only && model && field.only !== model)
			return { path: name, expected: `exists on ${field.only} only` };
		const problem = findProblem(field, given, model);
		if (problem) return { path: problem.path ? `${name}.${problem.path}` : name, expected: problem.expected };
	}
	return undefined;
}

function isAllowedText(schema: StringSchema, value: string): boolean {
	if (schema.values) return schema.values.includes(value);
	if (schema.maxLength !== undefined && isLonger(value, schema.maxLength)) return false;
	return schema.pattern === undefined || new RegExp(schema.pattern).test(value);
}

/** Counts code points, one by one: an array of them would take more memory than a board has. */
function isLonger(value: string, maxLength: number): boolean {
	// UTF-16 units, or code points in XS: never fewer than code points.
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
			return "an object";
	}
}
