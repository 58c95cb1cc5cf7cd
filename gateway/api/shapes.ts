/**
 * Schemas of the gateway's output: those of the protocol, and types that the firmware does not need. Types of the page and
 * the API documents are derived from them; they are not used for validation.
 */

import type { Infer, Presence, Schema } from "../../device/protocol/schema.js";

/** Shape with a more precise type. */
export type TypedShape<T = unknown> = {
	readonly type: "typed";
	readonly of: Shape;
	/** Carries the type; never set. */
	readonly value?: T;
};
export type Shape = Presence & { readonly description?: string; readonly example?: string | number } & (
		| Schema
		/** `format` is one of JSON Schema. */
		| { readonly type: "formatted"; readonly format: "date-time" | "uuid" }
		| { readonly type: "true" }
		| { readonly type: "nullable"; readonly of: Shape }
		/** Array of any length, unlike a list. */
		| { readonly type: "array"; readonly item: Shape }
		/** Object without other fields. */
		| { readonly type: "closed"; readonly fields: Readonly<Record<string, Shape>> }
		/** One of the named schemas of the document. */
		| { readonly type: "reference"; readonly to: Readonly<Record<string, Shape>> }
		/** Object with any fields. */
		| { readonly type: "record" }
		/** Body that is not JSON. */
		| { readonly type: "binary" }
		| TypedShape
	);

/** Values of fields, by name. */
export type FieldsOf<F> = {
	readonly [K in keyof F as F[K] extends { readonly optional: true } ? never : K]: InferShape<F[K]>;
} & {
	readonly [K in keyof F as F[K] extends { readonly optional: true } ? K : never]?: InferShape<F[K]>;
};

/** Type described by a shape. */
export type InferShape<S> = S extends { readonly type: infer T extends keyof Inferred<S> }
	? Inferred<S>[T]
	: Infer<S>;

/** Types described by a shape, by its `type`. */
interface Inferred<S> {
	readonly formatted: string;
	readonly true: true;
	readonly nullable: S extends { readonly of: infer O } ? InferShape<O> | null : never;
	readonly array: S extends { readonly item: infer I } ? readonly InferShape<I>[] : never;
	readonly closed: S extends { readonly fields: infer F }
		? { readonly [K in keyof FieldsOf<F>]: FieldsOf<F>[K] }
		: never;
	readonly reference: S extends { readonly to: infer T } ? InferShape<T[keyof T]> : never;
	readonly typed: S extends TypedShape<infer V> ? V : never;
	readonly record: object;
	readonly binary: unknown;
}

/** Text of any length. */
export const text = { type: "string" } as const;
/** ISO 8601. */
export const dateTime = { type: "formatted", format: "date-time" } as const;
export const uuid = { type: "formatted", format: "uuid" } as const;
export const onlyTrue = { type: "true" } as const;
export const wholeNumber = {
	type: "integer",
	minimum: Number.MIN_SAFE_INTEGER,
	maximum: Number.MAX_SAFE_INTEGER,
} as const;
/** A whole number of at least 0. */
export const count = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const;
export const anyRecord = { type: "record" } as const;

export function nullable<const S extends Shape>(of: S) {
	return { type: "nullable", of } as const;
}

export function array<const S extends Shape>(item: S) {
	return { type: "array", item } as const;
}

export function closed<const F extends Readonly<Record<string, Shape>>>(fields: F) {
	return { type: "closed", fields } as const;
}

/** Object with a count for each name. */
export function counts<N extends string>(
	names: readonly N[],
): { readonly type: "closed"; readonly fields: Readonly<Record<N, typeof count>> };
export function counts(names: readonly string[]) {
	return closed(Object.fromEntries(names.map((name) => [name, count])));
}

export function reference<const T extends Readonly<Record<string, Shape>>>(to: T) {
	return { type: "reference", to } as const;
}

/** @param description for the API documents: information that the field's name lacks */
export function described<const S extends Shape>(shape: S, description: string) {
	return { ...shape, description };
}

/** Documents values of the type T, such as a union that no shape describes. */
export function typed<T>(of: Shape): TypedShape<T> {
	return { type: "typed", of };
}
