/** Converts the protocol table's schemas to JSON Schema, draft 7, as AsyncAPI uses it. */

import { hasPart, modelsWith } from "../../device/protocol/models.js";
import { type Model, models, type ObjectSchema, type Schema } from "../../device/protocol/schema.js";

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

/** A field of one model is optional. Additional fields are allowed, except in a change, as in the protocol's own check. */
export function jsonSchemaOf(schema: Schema): JsonObject {
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
			return { type: schema.type, minimum: schema.minimum, maximum: schema.maximum };
		case "boolean":
			return { type: "boolean" };
		case "list":
			return { type: "array", maxItems: schema.maxItems, items: jsonSchemaOf(schema.item) };
		case "object":
			return {
				type: "object",
				...requiredOf(schema),
				...(schema.isChange && { minProperties: 1 }),
				properties: propertiesOf(schema),
				...(schema.isChange && { additionalProperties: false }),
			};
	}
}

/** Like `jsonSchemaOf`, for a message that contains its model, which decides the fields. @param naming the schema of that */
export function jsonSchemaByModel(schema: Schema, naming: (model: Model) => JsonObject): JsonObject {
	const variants = models.map((model) => ({ allOf: [naming(model), fieldsOf(schema, model) ?? {}] }));
	return { ...jsonSchemaOf(schema), oneOf: variants };
}

/** The schema of each field. */
export function propertiesOf({ fields }: ObjectSchema): JsonObject {
	return Object.fromEntries(
		Object.entries(fields).map(([name, field]) => [
			name,
			{ ...jsonSchemaOf(field), ...(field.part && { description: `${modelsWith(field.part)} only` }) },
		]),
	);
}

function requiredOf({ fields }: ObjectSchema): { readonly required?: readonly string[] } {
	const required = Object.keys(fields).filter((name) => !fields[name]?.optional && !fields[name]?.part);
	return required.length > 0 ? { required } : {};
}

/** The fields that a model requires or excludes; undefined where all models have the same. */
function fieldsOf(schema: Schema, model: Model): JsonObject | undefined {
	if (schema.type !== "object") return undefined;
	const own: string[] = [];
	const properties: Record<string, Json> = {};
	for (const [name, field] of Object.entries(schema.fields)) {
		if (field.part && hasPart(model, field.part)) own.push(name);
		else if (field.part) properties[name] = false;
		const inner = fieldsOf(field, model);
		if (inner) properties[name] = inner;
	}
	const hasProperties = Object.keys(properties).length > 0;
	if (own.length === 0 && !hasProperties) return undefined;
	return { ...(own.length > 0 && { required: own }), ...(hasProperties && { properties }) };
}
