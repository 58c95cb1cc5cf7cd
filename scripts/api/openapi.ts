/** Generates gateway/api/openapi.yaml, the OpenAPI 3.1 document of the HTTP routes, from the tables in gateway/api/. */

import type { RouteDefinition } from "../../gateway/api/route.js";
import { routeTables } from "../../gateway/api/routes.js";
import { type Shape, text } from "../../gateway/api/shapes.js";
import { apiDocument, type Json, type JsonObject, jsonSchemaOf } from "./json-schema.js";

export const openApiDocument = () => apiDocument("openapi.yaml", "gateway/api/", openApi());

function openApi(): JsonObject {
	const operations = new Operations();
	const paths: Record<string, Record<string, Json>> = {};
	for (const { extension, routes } of routeTables)
		for (const [name, route] of Object.entries(routes)) {
			const [method = "", path = ""] = name.split(" ");
			const template = path.replaceAll(/:(\w+)/g, "{$1}");
			const operation = operations.operationOf(method, template, extension, route);
			paths[template] = { ...paths[template], [method.toLowerCase()]: operation };
		}
	const schemas: Record<string, Json> = { problem: problemSchema };
	// Schemas add those that they reference.
	for (const [name, shape] of operations.references)
		schemas[name] = jsonSchemaOf(shape, operations.references);
	const extensions = routeTables.flatMap(({ extension }) => extension ?? []);
	return {
		openapi: "3.1.0",
		info: {
			title: "Device gateway: HTTP",
			version: "1",
			description:
				"Devices, firmware, login and health. Errors are application/problem+json (RFC 9457). Methods that a path does not " +
				"have are answered with 405 and Allow. The dashboard's files, at /, need no login and are not listed.",
			license: { name: "MIT", identifier: "MIT" },
		},
		servers: [{ url: "http://127.0.0.1:8080", description: "HOST and PORT, or PUBLIC_URL" }],
		// Operations without a tag belong to the core.
		tags: [...new Set(extensions)].map((name) => ({ name, description: `Extension in gateway/${name}` })),
		paths: { ...paths, ...webSockets },
		components: {
			securitySchemes,
			responses: standardResponses,
			schemas,
		},
	};
}

/** Converts routes, and collects the schemas that they reference. */
class Operations {
	/** Referenced schemas by name. */
	readonly references = new Map<string, Shape>();

	operationOf(method: string, path: string, extension: string | null, route: RouteDefinition): JsonObject {
		const { summary, description, roles, devices, body } = route;
		const parameters = this.#parametersOf(path, route);
		return {
			operationId: `${method.toLowerCase()}${path}`.replaceAll(/[^A-Za-z0-9]+/g, "_").replace(/_$/, ""),
			...(extension !== null && { tags: [extension] }),
			summary,
			...(description !== undefined && { description }),
			security: roles
				? [...(devices ? [{ deviceToken: [] }] : []), { monitorToken: roles }, { login: roles }]
				: [],
			...(parameters.length > 0 && { parameters }),
			...(body && { requestBody: this.#requestBodyOf(body) }),
			responses: { ...this.#successesOf(route), ...this.#problemsOf(method, path, route) },
		};
	}

	#parametersOf(path: string, { params = {}, query = {}, headers = {} }: RouteDefinition) {
		const parameter = (place: string, name: string, required: boolean, shape: Shape): JsonObject => {
			const { description, example, optional: _, ...schema } = shape;
			return {
				...{ name, in: place },
				...(required && { required }),
				...(description !== undefined && { description }),
				schema: jsonSchemaOf(schema, this.references),
				...(example !== undefined && { example }),
			};
		};
		return [
			...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) =>
				parameter("path", name, true, params[name] ?? { type: "string" }),
			),
			...Object.entries(query).map(([name, shape]) => parameter("query", name, !shape.optional, shape)),
			...Object.entries(headers).map(([name, shape]) => parameter("header", name, !shape.optional, shape)),
		];
	}

	#requestBodyOf(body: NonNullable<RouteDefinition["body"]>): JsonObject {
		const described = body.description !== undefined && { description: body.description };
		if (body.type === "raw")
			return {
				...(!body.isOptional && { required: true }),
				...described,
				content: this.#contentOf(body.content),
			};
		const schema = jsonSchemaOf(body.documented ?? body.schema, this.references);
		return {
			required: true,
			...described,
			content: { "application/json": { schema, example: jsonOf(body.example) } },
		};
	}

	#successesOf(route: RouteDefinition): JsonObject {
		const { reply, returns = "Success.", status, alternatives = {}, location, replyHeaders } = route;
		const headers = {
			...(location && { Location: { schema: { type: "string" } } }),
			...(replyHeaders && this.#headersOf(replyHeaders)),
		};
		const content =
			reply?.type === "raw"
				? this.#contentOf(reply.content)
				: reply && { "application/json": { schema: jsonSchemaOf(reply, this.references) } };
		const response = (description: string): JsonObject => ({
			description,
			...(Object.keys(headers).length > 0 && { headers }),
			...(content && { content }),
		});
		return {
			[status ?? (reply ? 200 : 204)]: response(returns),
			...Object.fromEntries(Object.entries(alternatives).map(([other, text]) => [other, response(text)])),
			...(reply?.type === "raw" &&
				reply.isFile && { ...fileResponses, 206: this.#partOf(reply.content, replyHeaders) }),
		};
	}

	#problemsOf(
		method: string,
		path: string,
		{ roles, body, query, alternatives, problems = {} }: RouteDefinition,
	): JsonObject {
		const isCreated = alternatives?.[201] !== undefined;
		const fields = [...Object.values(query ?? {}).map(({ optional }) => !optional), body?.type === "json"];
		return {
			...(body?.type === "json" && { 400: responseRef("invalidJson") }),
			...(roles && { 401: responseRef("unauthorized"), 429: responseRef("tooManyWrongTokens") }),
			...(method !== "GET" && { 403: responseRef("otherOrigin") }),
			...(path.includes("{") && !isCreated && { 404: responseRef("notFound") }),
			...(fields.includes(true) && { 422: responseRef("invalidField") }),
			...Object.fromEntries(
				Object.entries(problems).map(([status, response]) => [
					status,
					typeof response === "string"
						? rejection(response)
						: { description: response.description, content: this.#contentOf(response.content) },
				]),
			),
		};
	}

	#headersOf(headers: Readonly<Record<string, Shape>>): JsonObject {
		return Object.fromEntries(
			Object.entries(headers).map(([name, { description, ...shape }]) => [
				name,
				{ ...(description !== undefined && { description }), schema: jsonSchemaOf(shape, this.references) },
			]),
		);
	}

	#contentOf(content: Readonly<Record<string, Shape>>): JsonObject {
		return Object.fromEntries(
			Object.entries(content).map(([type, shape]) => [
				type,
				{ schema: jsonSchemaOf(shape, this.references) },
			]),
		);
	}

	#partOf(content: Readonly<Record<string, Shape>>, ofWhole: RouteDefinition["replyHeaders"] = {}) {
		const { "Content-Digest": digest } = ofWhole;
		return {
			description: `The part that Range asks for, unless If-Range does not match.${
				digest ? " Parts larger than 64 KiB have no Content-Digest." : ""
			}`,
			headers: this.#headersOf({
				ETag: text,
				"Content-Range": text,
				...(digest && { "Content-Digest": digest }),
			}),
			content: this.#contentOf(content),
		};
	}
}

function jsonOf(value: object): Json {
	return JSON.parse(JSON.stringify(value));
}

function responseRef(name: keyof typeof standardResponses): JsonObject {
	return { $ref: `#/components/responses/${name}` };
}

const problem = { "application/problem+json": { schema: { $ref: "#/components/schemas/problem" } } };

/** @param headers examples by name */
function rejection(description: string, headers: Readonly<Record<string, string>> = {}): JsonObject {
	const documented = Object.entries(headers).map(([name, example]) => [
		name,
		{ schema: { type: "string", example } },
	]);
	return {
		description,
		...(documented.length > 0 && { headers: Object.fromEntries(documented) }),
		content: problem,
	};
}

const standardResponses = {
	unauthorized: rejection("No valid token.", { "WWW-Authenticate": 'Bearer realm="gateway"' }),
	tooManyWrongTokens: rejection("Too many wrong tokens from this address.", { "Retry-After": "60" }),
	otherOrigin: rejection("Sent by a page of another website, or not permitted for the token's role."),
	notFound: rejection("Nothing has the id in the path."),
	invalidJson: rejection("The body is not JSON, or too long."),
	invalidField: rejection("A field is missing or invalid; `detail` names it."),
};

/** Responses of RFC 9110, sections 13 and 14. */
const fileResponses = {
	304: { description: "Unchanged (If-None-Match or If-Modified-Since)." },
	412: rejection("The file has been replaced (If-Match)."),
	416: rejection("The range starts after the end of the file.", { "Content-Range": "bytes */1048576" }),
};

const upgradeOnly = rejection("Only for WebSocket upgrades; see asyncapi.yaml.", { Upgrade: "websocket" });

const webSocket = (operationId: string, summary: string) => ({
	get: { operationId, summary, security: [], responses: { 426: upgradeOnly } },
});
const webSockets = {
	"/device": webSocket("get_device", "WebSocket of devices"),
	"/monitor": webSocket("get_monitor", "WebSocket of dashboards and programs"),
};

const problemSchema = {
	type: "object",
	description: "RFC 9457",
	required: ["type", "title", "status", "detail"],
	properties: {
		type: { const: "about:blank" },
		title: { type: "string" },
		status: { type: "integer", minimum: 400, maximum: 599 },
		detail: { type: "string", description: "one sentence that says what to change" },
	},
	additionalProperties: false,
};

const securitySchemes = {
	deviceToken: { type: "http", scheme: "bearer", description: "Token of devices." },
	monitorToken: {
		type: "http",
		scheme: "bearer",
		description:
			"Token of dashboards and programs, or of a person (`npm run token -- --add <role> <name>`). Each operation names its " +
			"roles in the security requirement; a token of another role gets 403.",
	},
	login: {
		type: "apiKey",
		in: "cookie",
		name: "gateway_login",
		description:
			"Cookie set by /login, instead of the monitor token. Its name differs for each gateway and token: `gateway_` and 12 " +
			"characters, since browsers send the cookies of all ports of a host.",
	},
};
