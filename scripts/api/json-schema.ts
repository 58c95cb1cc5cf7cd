/** Converts the schemas of the protocol and of monitor frames to JSON Schema draft 7, as used by AsyncAPI. */

import { hasPart, modelsWith } from "../../device/protocol/models.js";
import { type Model, models, type Schema } from "../../device/protocol/schema.js";
import type { Shape } from "../../gateway/api/shapes.js";

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

type Fields = Readonly<Record<string, Shape>>;
type References = Map<string, Shape>;

/** Reference within the document. */
export function schemaRef(name: string): JsonObject {
	return { $ref: `#/components/schemas/${name}` };
}

/**
 * Converts a schema. Fields of a single model are optional. Additional fields are allowed as in the protocol's own check: neither in
 * changes nor in messages of the gateway.
 * @param references receives the schemas that it references, by name
 */
export function jsonSchemaOf(schema: Shape, references: References = new Map()): JsonObject {
	const { description, example } = schema;
	return {
		...typeOf(schema, references),
		...(description !== undefined && { description }),
		...(example !== undefined && { example }),
	};
}

function typeOf(schema: Shape, references: References): JsonObject {
	switch (schema.type) {
		case "string":
			if (schema.values)
				return schema.values.length === 1
					? { type: "string", const: schema.values[0] ?? "" }
					: { type: "string", enum: [...schema.values] };
			return {
				type: "string",
				...(schema.form !== undefined && { description: schema.form }),
				...(schema.maxLength !== undefined && { maxLength: schema.maxLength }),
				...(schema.pattern !== undefined && { pattern: schema.pattern }),
			};
		case "integer":
		case "number":
			return {
				type: schema.type,
				...(schema.minimum > Number.MIN_SAFE_INTEGER && { minimum: schema.minimum }),
				...(schema.maximum < Number.MAX_SAFE_INTEGER && { maximum: schema.maximum }),
			};
		case "boolean":
			return { type: "boolean" };
		case "list":
			return {
				type: "array",
				...(schema.minItems && { minItems: schema.minItems }),
				maxItems: schema.maxItems,
				items: jsonSchemaOf(schema.item, references),
			};
		case "null":
			return { type: "null" };
		case "either":
			return { anyOf: schema.of.map((option) => jsonSchemaOf(option, references)) };
		case "object":
		case "closed": {
			const isChange = schema.type === "object" && schema.isChange;
			return {
				type: "object",
				...requiredOf(schema.fields),
				...(isChange && { minProperties: 1 }),
				properties: propertiesOf(schema, references),
				...((isChange || schema.type === "closed") && { additionalProperties: false }),
			};
		}
		case "typed":
			return jsonSchemaOf(schema.of, references);
		case "record":
			return { type: "object" };
		case "binary":
			return { type: "string", format: "binary" };
		case "formatted":
			return { type: "string", format: schema.format };
		case "true":
			return { type: "boolean", const: true };
		case "nullable":
			return orNull(jsonSchemaOf(schema.of, references));
		case "array":
			return { type: "array", items: jsonSchemaOf(schema.item, references) };
		case "counts":
			return {
				type: "object",
				required: schema.names,
				properties: Object.fromEntries(schema.names.map((name) => [name, { type: "integer", minimum: 0 }])),
				additionalProperties: false,
			};
		case "reference": {
			for (const [name, shape] of Object.entries(schema.to)) references.set(name, shape);
			const [first = {}, ...others] = Object.keys(schema.to).map(schemaRef);
			return others.length === 0 ? first : { oneOf: [first, ...others] };
		}
	}
}

function orNull(schema: JsonObject): JsonObject {
	const { type, enum: values } = schema;
	if (typeof type !== "string") return { anyOf: [schema, { type: "null" }] };
	return { ...schema, type: [type, "null"], ...(Array.isArray(values) && { enum: [...values, null] }) };
}

/** Like `jsonSchemaOf`, for a message whose model determines the fields. @param naming schema of the model */
export function jsonSchemaByModel(schema: Schema, naming: (model: Model) => JsonObject): JsonObject {
	const variants = models.map((model) => ({ allOf: [naming(model), fieldsOf(schema, model) ?? {}] }));
	return { ...jsonSchemaOf(schema), oneOf: variants };
}

/** Schemas by field. */
export function propertiesOf(
	{ fields }: { readonly fields: Fields },
	references: References = new Map(),
): JsonObject {
	return Object.fromEntries(
		Object.entries(fields).map(([name, field]) => [
			name,
			{
				...jsonSchemaOf(field, references),
				...(field.part && { description: `${modelsWith(field.part)} only` }),
			},
		]),
	);
}

function requiredOf(fields: Fields): { readonly required?: readonly string[] } {
	const required = Object.keys(fields).filter((name) => !fields[name]?.optional && !fields[name]?.part);
	return required.length > 0 ? { required } : {};
}

/** Fields that a model requires or excludes; undefined if all models are equal. */
function fieldsOf(schema: Schema, model: Model): JsonObject | undefined {
	if (schema.type !== "object") return undefined;
	const own: string[] = [];
	const properties: Record<string, Json> = {};
	for (const [name, field] of Object.entries(schema.fields)) {
		if (field.part && !hasPart(model, field.part)) properties[name] = false;
		else if (field.part && !field.optional) own.push(name);
		const inner = fieldsOf(field, model);
		if (inner) properties[name] = inner;
	}
	const hasProperties = Object.keys(properties).length > 0;
	if (own.length === 0 && !hasProperties) return undefined;
	return { ...(own.length > 0 && { required: own }), ...(hasProperties && { properties }) };
}
