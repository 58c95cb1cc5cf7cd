/** The two documents as they are committed, and validators of the JSON Schemas in them. */

import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { parse } from "yaml";
import { isRecord } from "../../../device/protocol/schema.js";

export type Node = Readonly<Record<string, unknown>>;

export class ApiDocument {
	readonly content: Node;
	readonly #ajv = new Ajv2020({ strict: false });
	readonly #validators = new Map<string, ValidateFunction>();

	/** @param name such as `openapi.yaml` */
	constructor(name: string) {
		const content: unknown = parse(
			readFileSync(new URL(`../../../gateway/api/${name}`, import.meta.url), "utf8"),
		);
		if (!isRecord(content)) throw new Error(`${name} is no document`);
		this.content = content;
		formats.default(this.#ajv);
		this.#ajv.addSchema(content, "document");
	}

	/** What lies at a path of names; an empty object where there is nothing. */
	at(...names: readonly string[]): Node {
		let node: unknown = this.content;
		for (const name of names) node = isRecord(node) ? node[name] : undefined;
		return isRecord(node) ? node : {};
	}

	/** Why `value` does not match the schema at a path of names; undefined where it does. */
	problemOf(value: unknown, ...names: readonly string[]): string | undefined {
		const pointer = names.map((name) => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1")));
		const reference = `document#/${pointer.join("/")}`;
		const validate: ValidateFunction =
			this.#validators.get(reference) ?? this.#ajv.compile({ $ref: reference });
		this.#validators.set(reference, validate);
		return validate(value) ? undefined : this.#ajv.errorsText(validate.errors);
	}
}
