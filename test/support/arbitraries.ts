/**
 * Arbitraries for property tests: values that match a schema, values that almost match it, and arbitrary texts and
 * bytes. A failure prints its seed and path; `fc.assert(…, { seed, path })` with both reproduces it.
 */

import fc from "fast-check";
import { hasPart } from "../../device/protocol/models.js";
import type { Model, NumberSchema, Schema, StringSchema } from "../../device/protocol/schema.js";

/** Characters that parsers, encodings or engines treat specially, including lone surrogates and NUL. */
const oddCharacters = [
	..."\0\x01\t\n\r \x7f\x85\xa0\ufeff\u2028\u2029\u180e\u200b\ufffd\ud800\udbff\udc00\udfffé€😀",
	..."\"'\\/%.,:;=-_?#@[]{}<>&|",
	"\ud83d",
	"\ude00",
];

const firstSurrogate = 0xd800;
const surrogates = 0x800;

/**
 * Any Unicode character, like the unit "binary" of `fc.string`, for which fast-check builds a map of all 1.1 million characters in each
 * process.
 */
export const character = fc.nat(0x10ffff - surrogates).map(
	(index) => String.fromCodePoint(index < firstSurrogate ? index : index + surrogates),
	(text) => {
		const point = typeof text === "string" && [...text].length === 1 ? text.codePointAt(0) : undefined;
		if (point === undefined || (point >= firstSurrogate && point < firstSurrogate + surrogates))
			throw new Error("not a character");
		return point < firstSurrogate ? point : point - surrogates;
	},
);

/** Any text with many special characters. */
export const oddText = fc.string({
	unit: fc.oneof(character, fc.constantFrom(...oddCharacters)),
	maxLength: 40,
});

/** Text with a few characters removed, doubled, replaced or added. */
export function mutatedText(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
	const change = fc.tuple(
		fc.double({ min: 0, max: 1, noNaN: true }),
		fc.nat(2),
		fc.constantFrom("", ...oddCharacters, "0", "a"),
	);
	return fc.tuple(text, fc.array(change, { maxLength: 3 })).map(([start, changes]) =>
		changes.reduce((changed, [place, removed, added]) => {
			const at = Math.floor(place * changed.length);
			return changed.slice(0, at) + added + changed.slice(at + removed);
		}, start),
	);
}

const oddNumbers = [
	-0,
	0.5,
	-1,
	101,
	1e21,
	-1e21,
	5e-324,
	1e-7,
	1.7976931348623157e308,
	2 ** 31,
	2 ** 32,
	2 ** 53 + 2,
];

/** `constructor`, `toString`, `__proto__` and other names that every object inherits. */
export const inheritedNames: readonly string[] = Object.getOwnPropertyNames(Object.prototype);

/** Any JSON value; keys include `__proto__` and other inherited names. */
export const anyJson: fc.Arbitrary<fc.JsonValue> = fc.jsonValue({ maxDepth: 3, depthSize: "small" });

/** Value of a type that most fields reject. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
	fc.constantFrom<unknown>(...oddNumbers, null, true, "", "0", "1", [], {}, [1], { value: 1 }),
	fc.double({ noNaN: true, noDefaultInfinity: true }),
	oddText,
	anyJson,
);

/** Value that matches the schema, with the fields of `model`. Optional ones may be missing. */
export function valid(schema: Schema, model?: Model): fc.Arbitrary<unknown> {
	switch (schema.type) {
		case "string":
			return validText(schema);
		case "list":
			return fc.array(valid(schema.item, model), {
				minLength: schema.minItems ?? 0,
				maxLength: Math.min(schema.maxItems, 5),
			});
		case "null":
			return fc.constant(null);
		case "either":
			return fc.oneof(...schema.of.map((option) => valid(option, model)));
		case "integer":
			return fc.oneof(
				fc.constantFrom(schema.minimum, schema.maximum),
				fc.maxSafeInteger().map((value) => clamp(value, schema)),
				fc.nat(200).map((value) => clamp(schema.minimum + value, schema)),
			);
		case "number":
			return fc.oneof(
				fc.constantFrom(schema.minimum, schema.maximum),
				fc.double({ min: schema.minimum, max: schema.maximum, noNaN: true }),
			);
		case "boolean":
			return fc.boolean();
		case "object": {
			const fields = Object.entries(schema.fields).filter(
				([, { part }]) => !part || !model || hasPart(model, part),
			);
			const isRequired = ([, { optional, part }]: (typeof fields)[number]) =>
				!optional && (!part || (model !== undefined && hasPart(model, part)));
			const requiredKeys = fields.filter(isRequired).map(([name]) => name);
			const arbitraries = fields.map(([name, field]) => [name, valid(field, model)] as const);
			const record = fc.record(Object.fromEntries(arbitraries), { requiredKeys, noNullPrototype: true });
			return schema.isChange ? record.filter((fields) => Object.keys(fields).length > 0) : record;
		}
	}
}

function clamp(value: number, { minimum, maximum }: NumberSchema): number {
	return Math.max(minimum, Math.min(maximum, value));
}

function validText({ values, pattern, maxLength = 1000 }: StringSchema): fc.Arbitrary<string> {
	if (values) return fc.constantFrom(...values);
	const cut = (text: string) => [...text].slice(0, maxLength).join("");
	if (pattern === undefined)
		return fc.oneof(
			oddText.map(cut),
			fc.constantFrom("😀", "x", "é").map((character) => character.repeat(maxLength)),
		);
	const form = new RegExp(pattern);
	// fast-check does not support lookahead.
	return fc
		.stringMatching(new RegExp(pattern.replace(/\(\?![^)]*\)/g, "")))
		.filter((text) => form.test(text) && [...text].length <= maxLength);
}

/** Value that matches the schema except in one place, which is invalid, missing or has an additional field. */
export function nearlyValid(schema: Schema, model?: Model): fc.Arbitrary<unknown> {
	const other = outside(schema);
	if (schema.type !== "object") return fc.oneof(other, valid(schema, model));
	const names = Object.keys(schema.fields);
	const changes = [
		...Object.entries(schema.fields).map(([name, field]) =>
			nearlyValid(field, model).map((value) => ({ name, value })),
		),
		fc.record({ name: fc.constantFrom("x", ...names), value: fc.constant(undefined) }),
		fc.record({
			name: fc.constantFrom("__proto__", "constructor", "toString", "extra", "haptic_intensity"),
			value: oddValue,
		}),
		fc.record({ name: oddText, value: oddValue }),
	];
	const changed = fc.tuple(valid(schema, model), fc.oneof(...changes)).map(([value, change]) => {
		const fields = Object.entries(isObject(value) ? value : {}).filter(([name]) => name !== change.name);
		// fromEntries, because an assignment to __proto__ creates no field.
		return Object.fromEntries(change.value === undefined ? fields : [...fields, [change.name, change.value]]);
	});
	return fc.oneof({ arbitrary: changed, weight: 9 }, { arbitrary: other, weight: 1 });
}

/** Values at and beyond the bounds of a schema, and of other types. */
function outside(schema: Schema): fc.Arbitrary<unknown> {
	switch (schema.type) {
		case "string": {
			const bound = schema.maxLength ?? 64;
			const long = fc
				.constantFrom("x", "é", "😀", "\ud800", "\0")
				.map((character) => character.repeat(bound + 1));
			return fc.oneof(mutatedText(validText(schema)), long, oddText, oddValue);
		}
		case "integer":
		case "number": {
			const { minimum, maximum } = schema;
			const bounds = [minimum, maximum].flatMap((end) => [end - 1, end - 1e-9, end, end + 1e-9, end + 1]);
			return fc.oneof(fc.constantFrom(...bounds, minimum + 0.5, -0, String(minimum), [minimum]), oddValue);
		}
		default:
			return oddValue;
	}
}

function isObject(value: unknown): value is object {
	return typeof value === "object" && value !== null;
}

/**
 * Different JSON encodings of a value: with white space, escapes, a duplicate field, and other number formats.
 */
export function jsonText(value: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
	return fc
		.tuple(value, fc.constantFrom(...spellings))
		.map(([content, spell]) => spell(JSON.stringify(content) ?? "null"));
}

const spellings: readonly ((text: string) => string)[] = [
	(text) => text,
	(text) => text,
	(text) => ` \t\r\n${text}\n`,
	(text) =>
		text.replace(
			/[^\x20-\x7e]/g,
			(character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
		),
	(text) => text.replace(/([:,])(-?\d+)([,}])/g, "$1$2.0$3"),
	(text) => text.replace(/([:,])(-?\d+)([,}])/g, "$1$20e-1$3"),
	(text) => text.replace(/^\{/, '{"command":"query_state","value":7,'),
	(text) => text.replace(/"value"/g, '"v\\u0061lue"'),
	(text) => text.replace(/([:,])(-?\d+)([,}])/g, "$1$2.0000000000000000001$3"),
	(text) => text.replace(/:-?\d+([,}])/g, ":1e999$1"),
	(text) => text.replace(/:-?\d+([,}])/g, ":-0.0$1"),
	(text) => text.replace(/,"/g, ', /**/ "'),
	(text) => text.replace(/\}$/, ",}"),
	(text) => `${text}\0,`,
	(text) => `\ufeff${text}`,
];

/** Copy of the bytes with one byte changed. */
export function damaged(bytes: Uint8Array): fc.Arbitrary<Buffer> {
	return fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 })).map(([at, bits]) => {
		const copy = Buffer.from(bytes);
		copy[at] = (copy[at] ?? 0) ^ bits;
		return copy;
	});
}

/** Sizes of chunks. */
export const chunkSizes = fc.array(fc.integer({ min: 1, max: 2000 }), { minLength: 1, maxLength: 5 });

/** @returns the chunks, whose sizes repeat */
export function* inChunks(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
	for (let at = 0, turn = 0; at < bytes.length; turn++) {
		const end = at + (sizes[turn % sizes.length] ?? 1);
		yield bytes.subarray(at, end);
		at = end;
	}
}
