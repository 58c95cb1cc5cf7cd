/** API documents with validators of their JSON Schemas. */

import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { parse } from "yaml";
import { isRecord } from "../../../device/protocol/schema.js";
import { asyncApiDocument } from "../../../scripts/api/asyncapi.js";

export type Node = Readonly<Record<string, unknown>>;

export class ApiDocument {
	readonly content: Node;
	readonly #ajv = new Ajv2020({ strict: false });
	readonly #validators = new Map<string, ValidateFunction>();

	/** @param text YAML, generated so that only `documents.test.ts` fails before `npm run api` */
	constructor({ text }: { readonly text: string }) {
		const content: unknown = parse(text);
		if (!isRecord(content)) throw new Error("The generated document is no mapping.");
		this.content = content;
		formats.default(this.#ajv);
		this.#ajv.addSchema(content, "document");
	}

	/** Node at a path, with references resolved; an empty object if missing. */
	at(...names: readonly string[]): Node {
		return this.#find(names).node;
	}

	/** Reason why `value` does not match the schema at a path; undefined if it matches. */
	problemOf(value: unknown, ...names: readonly string[]): string | undefined {
		const reference = `document${this.#find(names).pointer}`;
		const validate: ValidateFunction =
			this.#validators.get(reference) ?? this.#ajv.compile({ $ref: reference });
		this.#validators.set(reference, validate);
		return validate(value) ? undefined : this.#ajv.errorsText(validate.errors);
	}

	/** Fields of `value` not described by the schema at a path, such as `metadata.otaStatus`. */
	undescribed(value: unknown, ...names: readonly string[]): readonly string[] {
		if (Array.isArray(value)) return value.flatMap((item) => this.undescribed(item, ...names, "items"));
		const { allOf, properties, additionalProperties } = this.at(...names);
		const parts = Array.isArray(allOf)
			? allOf.map((_, index) => [...names, "allOf", String(index)])
			: [names];
		if (!isRecord(value) || additionalProperties === true || !(allOf || properties)) return [];
		return Object.entries(value).flatMap(([name, inner]) => {
			const part = parts.find((candidate) => name in this.at(...candidate, "properties"));
			if (!part) return [name];
			return this.undescribed(inner, ...part, "properties", name).map((field) => `${name}.${field}`);
		});
	}

	/** @returns the node and its JSON pointer */
	#find(names: readonly string[]): { readonly node: Node; readonly pointer: string } {
		let node: unknown = this.content;
		let pointer = "#";
		for (const name of names) {
			node = isRecord(node) || Array.isArray(node) ? Reflect.get(node, name) : undefined;
			pointer += `/${encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))}`;
			if (isRecord(node) && typeof node.$ref === "string") {
				pointer = node.$ref;
				node = this.#find(pointer.slice(2).split("/")).node;
			}
		}
		return { node: isRecord(node) ? node : {}, pointer };
	}
}

let asyncApi: ApiDocument | undefined;

/** @throws {assert.AssertionError} if a frame of the gateway violates gateway/api/frames.ts */
export function checkFrame(frame: { readonly type: string }): void {
	asyncApi ??= new ApiDocument(asyncApiDocument());
	const problem = asyncApi.problemOf(frame, "components", "schemas", frame.type);
	assert.equal(problem, undefined, JSON.stringify(frame));
}
