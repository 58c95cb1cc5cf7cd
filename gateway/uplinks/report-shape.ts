/**
 * Reads a state report faster than JSON.parse. Reports of one firmware differ in some values only: the shape of a report that was
 * parsed and checked is its text between the values. A text of the same shape is compared with it, and only values that differ from
 * the latest ones are parsed and checked. Any other text is left to JSON.parse.
 */

import { type StateReport, uplinks } from "../../device/protocol/messages.js";
import type { Model } from "../../device/protocol/models.js";
import { matches, type Schema } from "../../device/protocol/schema.js";

type Json = Record<string, unknown>;

type Check = (value: unknown) => boolean;

interface Slot {
	/** The text before the value, from the previous one on. */
	readonly before: string;
	/** The first character after the value. */
	readonly next: number;
	/** What the value is in. */
	readonly object: JsonObject;
	readonly name: string;
	/** Stricter than the schema at most. */
	readonly check: Check;
	/** The latest value as text, after `before`. */
	text: string;
}

interface JsonObject {
	/** What it is in; undefined: it is the report. */
	readonly outer: { readonly object: JsonObject; readonly name: string } | undefined;
	readonly schema: Schema | undefined;
	/** With the latest values. */
	fields: Json;
	/** `fields` was handed out: it must not change. */
	isShared: boolean;
}

const quote = 0x22;
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** In strings with these JSON.parse changes something, or refuses them. */
const special = /[\\\p{Cc}]/u;
/** Of valid JSON without escapes. */
const tokens = /"[^"]*"|[^\s"{}[\]:,]+|[{}[\]:,]/g;
/** What decides which fields a report has. */
const fixedNames = ["type", "model"];
/** A board's report has about 1000. */
const mostCharacters = 4096;

export class ReportShape {
	readonly #slots: readonly Slot[];
	/** The report itself first. */
	readonly #objects: readonly [JsonObject, ...JsonObject[]];
	/** The text after the last value. */
	readonly #end: string;

	private constructor(slots: readonly Slot[], objects: readonly [JsonObject, ...JsonObject[]], end: string) {
		this.#slots = slots;
		this.#objects = objects;
		this.#end = end;
	}

	/**
	 * @param text a valid state report of this model
	 * @returns undefined if it has a list, an escaped character, a name twice, or more than 4096 characters
	 */
	static of(text: string, model: Model): ReportShape | undefined {
		if (text.length > mostCharacters || special.test(text)) return undefined;
		const report: JsonObject = {
			outer: undefined,
			schema: uplinks.state_report,
			fields: {},
			isShared: false,
		};
		const objects: [JsonObject, ...JsonObject[]] = [report];
		const slots: Slot[] = [];
		let object: JsonObject | undefined;
		let name: string | undefined;
		let from = 0;
		for (const { 0: token, index } of text.matchAll(tokens)) {
			if (token === "[" || token === "]") return undefined;
			if (token === ":" || token === ",") continue;
			if (!object) object = report;
			else if (token === "}") object = object.outer?.object;
			else if (name === undefined) {
				name = token.slice(1, -1);
				if (Object.hasOwn(object.fields, name) || name === "__proto__") return undefined;
			} else {
				const schema: Schema | undefined =
					object.schema?.type === "object" ? object.schema.fields[name] : undefined;
				if (token === "{") {
					const inner: JsonObject = { outer: { object, name }, schema, fields: {}, isShared: false };
					objects.push(inner);
					object.fields[name] = inner.fields;
					object = inner;
				} else {
					const value: unknown = JSON.parse(token);
					object.fields[name] = value;
					const check = fixedNames.includes(name)
						? (other: unknown) => other === value
						: checkOf(schema, model);
					const before = text.slice(from, index);
					from = index + token.length;
					slots.push({ before, next: text.charCodeAt(from), object, name, check, text: before + token });
				}
				name = undefined;
			}
		}
		return new ReportShape(slots, objects, text.slice(from));
	}

	/** @returns the valid report; undefined if the text has another shape, or a value is not valid */
	read(text: string): StateReport | undefined {
		const isRead = this.#readValues(text);
		const [report] = this.#objects;
		if (!isReport(report.fields, isRead)) return undefined;
		for (const object of this.#objects) object.isShared = true;
		return report.fields;
	}

	/** @returns whether all of the text is as this shape, and valid */
	#readValues(text: string): boolean {
		let at = 0;
		for (const slot of this.#slots) {
			const end = at + slot.text.length;
			// Faster than startsWith.
			const isSame = text.substring(at, end) === slot.text && text.charCodeAt(end) === slot.next;
			if (!isSame && !readValue(slot, text, at)) return false;
			at += slot.text.length;
		}
		return text.substring(at) === this.#end;
	}
}

/** @param schema undefined: of a field that the protocol does not know */
function checkOf(schema: Schema | undefined, model: Model): Check {
	if (!schema) return () => true;
	if (schema.type !== "string" || schema.pattern === undefined)
		return (value) => matches(schema, value, model);
	// `matches` compiles it each time, since a board must not keep it.
	const pattern = new RegExp(schema.pattern);
	const { maxLength = 0 } = schema;
	return (value) => typeof value === "string" && value.length <= maxLength && pattern.test(value);
}

/** @returns whether there is a valid value at this place; then it is the slot's latest */
function readValue(slot: Slot, text: string, at: number): boolean {
	const { before, next, object, name } = slot;
	const from = at + before.length;
	if (text.substring(at, from) !== before) return false;
	const isString = text.charCodeAt(from) === quote;
	const end = isString ? text.indexOf('"', from + 1) + 1 : text.indexOf(String.fromCharCode(next), from);
	if (end <= from) return false;
	const token = text.slice(from, end);
	if (isString ? special.test(token) : !number.test(token) && token !== "true" && token !== "false")
		return false;
	const value: unknown = isString
		? token.slice(1, -1)
		: token === "true" || (token !== "false" && Number(token));
	if (!slot.check(value)) return false;
	ownFields(object)[name] = value;
	slot.text = text.slice(at, end);
	return true;
}

/** @returns the object's fields, to be changed */
function ownFields(object: JsonObject): Json {
	if (!object.isShared) return object.fields;
	object.isShared = false;
	object.fields = { ...object.fields };
	const { outer } = object;
	if (outer) ownFields(outer.object)[outer.name] = object.fields;
	return object.fields;
}

/** @param isValid whether every value is as the schema says */
function isReport(_fields: Json | StateReport, isValid: boolean): _fields is StateReport {
	return isValid;
}
