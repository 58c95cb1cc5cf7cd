/** The protocol table's little language in JSON Schema, in the part that draft 7 (AsyncAPI) and 2020-12 (OpenAPI) share. */

import { type Model, models, type ObjectSchema, type Schema } from "../../device/protocol/schema.js";

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

/**
 * @returns what the schema accepts, whatever the model; a field that one model alone has may be there or not. Other
 * fields are let through, as the check does
 */
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
		case "object":
			return { type: "object", ...requiredOf(schema), properties: propertiesOf(schema) };
	}
}

/** As `jsonSchemaOf`, for a message that names its model itself: the model decides which fields there are. */
export function jsonSchemaByModel(schema: Schema, naming: (model: Model) => JsonObject): JsonObject {
	const variants = models.map((model) => ({ allOf: [naming(model), fieldsOf(schema, model) ?? {}] }));
	return { ...jsonSchemaOf(schema), oneOf: variants };
}

/** The fields of an object alone, as `jsonSchemaOf` has them. */
export function propertiesOf({ fields }: ObjectSchema): JsonObject {
	return Object.fromEntries(
		Object.entries(fields).map(([name, field]) => [
			name,
			{ ...jsonSchemaOf(field), ...(field.modelOnly && { description: `${field.modelOnly} only` }) },
		]),
	);
}

function requiredOf({ fields }: ObjectSchema): { readonly required?: readonly string[] } {
	const required = Object.keys(fields).filter((name) => !fields[name]?.optional && !fields[name]?.modelOnly);
	return required.length > 0 ? { required } : {};
}

/** What a model adds to and takes from the schema; undefined where it is the same for all. */
function fieldsOf(schema: Schema, model: Model): JsonObject | undefined {
	if (schema.type !== "object") return undefined;
	const own: string[] = [];
	const properties: Record<string, Json> = {};
	for (const [name, field] of Object.entries(schema.fields)) {
		if (field.modelOnly === model) own.push(name);
		else if (field.modelOnly) properties[name] = false;
		const inner = fieldsOf(field, model);
		if (inner) properties[name] = inner;
	}
	const hasProperties = Object.keys(properties).length > 0;
	if (own.length === 0 && !hasProperties) return undefined;
	return { ...(own.length > 0 && { required: own }), ...(hasProperties && { properties }) };
}
