/** Serves the routes of gateway/api: authorization, validation, responses, and 405 for other methods. */

import { type Request, type Response, Router } from "express";
import { describeProblem, findProblem, isRecord, keysOf, type Schema } from "../../device/protocol/schema.js";
import type { Access } from "../access/access.js";
import { pick } from "../api/json.js";
import type { Person } from "../api/person.js";
import type {
	BodyOf,
	ParamsOf,
	PersonOf,
	QueryOf,
	ReplyOf,
	RouteDefinition,
	RouteTable,
} from "../api/route.js";
import { RequestError, rejectMethod } from "../problem.js";
import { readJson, recordedChange } from "./request-body.js";

/** Returned by a handler that has written the response itself. */
export const streamed = Object.freeze({ isStreamed: true } as const);

export interface RouteContext<N = string, R = RouteDefinition> {
	readonly params: ParamsOf<N>;
	readonly query: QueryOf<R>;
	readonly body: BodyOf<R>;
	readonly person: PersonOf<R>;
	readonly request: Request;
	/** Response, to set headers or another status. A handler that writes the body itself returns `streamed`. */
	readonly response: Response;
}

type Awaitable<T> = T | Promise<T>;

/** Handlers of all routes of a table; a missing one does not compile. */
export type Handlers<T> = {
	readonly [N in keyof T]: (context: RouteContext<N, T[N]>) => Awaitable<ReplyOf<T[N]> | typeof streamed>;
};

/** A route with its handler. */
export interface Route {
	/** Method and path, such as `GET /api/devices/:deviceId`. */
	readonly name: string;
	readonly definition: RouteDefinition;
	readonly handle: Handle;
}

/** Handler of any route. Declared as a method, since parameters of methods are bivariant. */
type Handle = {
	handle(context: {
		readonly params: unknown;
		readonly query: unknown;
		readonly body: unknown;
		readonly person: Person | undefined;
		readonly request: Request;
		readonly response: Response;
	}): unknown;
}["handle"];

/**
 * Joins a table of routes with its handlers, which throw RequestError to reject a request.
 */
export function serve<const T extends RouteTable>(
	table: { readonly routes: T },
	handlers: Handlers<T>,
): readonly Route[];
// `respond` validates the context by the definition from which the handlers' types are inferred.
export function serve(
	{ routes }: { readonly routes: RouteTable },
	handlers: Readonly<Record<string, Handle>>,
): readonly Route[] {
	return Object.entries(routes).map(([name, definition]) => {
		const handle = handlers[name];
		if (!handle) throw new TypeError(`${name} has no handler`);
		return { name, definition, handle };
	});
}

export type Authorize = Pick<Access, "authorize" | "reportChange">;

const verbs = { GET: "get", POST: "post", PUT: "put", PATCH: "patch", DELETE: "delete" } as const;

/** Creates an Express router, which responds to other methods of the paths with 405. */
export function createRouter(routes: readonly Route[], access: Authorize): Router {
	const router = Router({ caseSensitive: true, strict: true });
	for (const path of new Set(routes.map(({ name }) => name.slice(name.indexOf("/"))))) {
		const registered = router.route(path);
		const methods = keysOf(verbs).flatMap((method) => {
			const route = routes.find(({ name }) => name === `${method} ${path}`);
			if (!route) return [];
			registered[verbs[method]]((request, response) => respond(route, access, request, response));
			return method === "GET" ? "GET, HEAD" : method;
		});
		registered.all(rejectMethod(methods.join(", ")));
	}
	return router;
}

async function respond(
	{ name, definition, handle }: Route,
	access: Authorize,
	request: Request,
	response: Response,
): Promise<void> {
	const { body, status = 200, location } = definition;
	const person = await access.authorize(request, definition);
	const params = paramsOf(request);
	let query: Readonly<Record<string, unknown>> = {};
	if (person && isAudited(definition, request))
		response.once("close", () => {
			if (response.headersSent && response.statusCode >= 400) return;
			const { what = name, after, before } = recordedChange(request);
			const { deviceId, ...others } = params;
			access.reportChange(request, {
				person,
				deviceId,
				what,
				after: { ...others, ...query, ...after },
				before,
			});
		});
	response.status(status);
	query = readFields(request, definition.query ?? {});
	const content = await handle({
		params,
		query,
		body: body?.type === "json" ? await readJson(request, body) : undefined,
		person,
		request,
		response,
	});
	if (content === streamed) return;
	if (content === undefined) return void response.status(status === 200 ? 204 : status).end();
	if (location && isRecord(content)) response.set("Location", location.replace(":id", String(content.id)));
	if (!response.hasHeader("Cache-Control")) response.set("Cache-Control", "no-store");
	response.json(content);
}

function isAudited({ isAudited }: RouteDefinition, { method }: Request): boolean {
	return method !== "HEAD" && (isAudited ?? method !== "GET");
}

function paramsOf({ params }: Request): Readonly<Record<string, string>> {
	return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)]));
}

/** Reads and validates the query. @throws {RequestError} 422 if a field is missing or invalid */
function readFields(
	request: Request,
	fields: Readonly<Record<string, Schema>>,
): Readonly<Record<string, unknown>> {
	const values: Record<string, unknown> = {};
	for (const [name, schema] of Object.entries(fields)) {
		const { [name]: given } = request.query;
		const text = typeof given === "string" ? given : undefined;
		if (text === undefined && schema.optional) continue;
		const value = pick(schema, parseField(schema, text));
		const problem = text === undefined ? { path: "", expected: "is missing" } : findProblem(schema, value);
		if (problem)
			throw new RequestError(422, `The query field ${describeProblem({ ...problem, path: name })}.`);
		values[name] = value;
	}
	return values;
}

function parseField({ type }: Schema, text: string | undefined): unknown {
	if (type === "integer") return text ? Number(text) : undefined;
	return type === "boolean" && (text === "true" || text === "false") ? text === "true" : text;
}
