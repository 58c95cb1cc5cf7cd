/** The kinds of answers that routes.ts is written in. */

import type { Json, JsonObject } from "./json-schema.js";

export type ResponseOf = JsonObject;

/** A JSON body; `schema` is a name of `bodySchemas`. */
export function json(description: string, schema: string, example: Json): ResponseOf {
	const content = { schema: { $ref: `#/components/schemas/${schema}` }, example };
	return { description, content: { "application/json": content } };
}

export function problem(description: string, headers: Readonly<Record<string, string>> = {}): ResponseOf {
	return {
		description,
		...withHeaders(Object.entries(headers).map(([name, example]) => [name, { type: "string", example }])),
		content: { "application/problem+json": { schema: { $ref: "#/components/schemas/problem" } } },
	};
}

export function html(description: string): ResponseOf {
	return { description, content: { "text/html": { schema: { type: "string" } } } };
}

/** No body that matters. */
export function nothing(description: string): ResponseOf {
	return { description };
}

const text = { type: "string" };
const validators = { ETag: text, "Last-Modified": text, "Repr-Digest": text };
const bytes = {
	content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
};

/** RFC 9110 and RFC 9530, as gateway/firmware/binaries.ts keeps them. */
export const binaryAnswers: Readonly<Record<number, ResponseOf>> = {
	200: {
		description: "All of it.",
		...withHeaders(Object.entries({ ...validators, "Accept-Ranges": text, "Content-Digest": text })),
		...bytes,
	},
	206: {
		description:
			"The part that Range asked for, where If-Range did not say otherwise. Who sent no If-Range gets Last-Modified and Repr-Digest too; more than 64 KiB come without Content-Digest.",
		...withHeaders(Object.entries({ ETag: text, "Content-Range": text, "Content-Digest": text })),
		...bytes,
	},
	304: { description: "If-None-Match or If-Modified-Since: it is still the same." },
	412: problem("If-Match: it has been replaced."),
	416: problem("Nothing lies in that range.", { "Content-Range": "bytes */1048576" }),
};

function withHeaders(headers: readonly (readonly [string, JsonObject])[]): { readonly headers?: JsonObject } {
	if (headers.length === 0) return {};
	return { headers: Object.fromEntries(headers.map(([name, schema]) => [name, { schema }])) };
}
