/**
 * Definitions of HTTP routes as data: path, roles, input and output. The server (http/routes.ts), the client
 * (client/request.ts) and openapi.yaml are derived from them.
 */

import type { Infer, Schema } from "../../device/protocol/schema.js";
import type { Person, PersonRole } from "./person.js";
import { closed, type FieldsOf, type InferShape, type Shape, text } from "./shapes.js";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
/** Method and path, such as `GET /api/devices/:deviceId`. */
export type RouteName = `${Method} /${string}`;
export type Fields = Readonly<Record<string, Shape>>;

export interface RouteDefinition {
	readonly summary: string;
	/** Longer explanation for the OpenAPI document. */
	readonly description?: string;
	/** Roles with access; null: no token required. */
	readonly roles: readonly PersonRole[] | null;
	/** Whether the device token is accepted, too. */
	readonly devices?: boolean;
	/** Default: changes are audited, reads are not. */
	readonly isAudited?: boolean;
	/** Path parameters with a description or an example; others are any string. */
	readonly params?: Fields;
	readonly query?: Readonly<Record<string, Schema & Presentation>>;
	/** Request headers that the route evaluates. */
	readonly headers?: Fields;
	readonly body?: JsonBody | RawBody;
	/** Body of a successful response; absent: 204, without one. */
	readonly reply?: Shape | RawReply;
	/** Describes the successful response, if the summary does not. */
	readonly returns?: string;
	/** Default: 200, or 204 without a body. */
	readonly status?: number;
	/** Other statuses with the same body. */
	readonly alternatives?: Readonly<Record<number, string>>;
	/** Documented response headers. */
	readonly replyHeaders?: Fields;
	/** Location header: path of a created resource, with `:id` from the reply. */
	readonly location?: string;
	/** Error responses, in addition to those implied by roles, method, path and body; default content: problem+json. */
	readonly problems?: Readonly<
		Record<number, string | { readonly description: string; readonly content: Fields }>
	>;
}

interface Presentation {
	readonly description?: string;
	readonly example?: string | number;
}

/** JSON body, validated before the handler is called. */
export interface JsonBody<S extends Schema = Schema> {
	readonly type: "json";
	/** Validates the body. */
	readonly schema: S;
	/** Describes the body in the document; default: `schema`. */
	readonly documented?: Shape;
	readonly description?: string;
	/** Part of the error message for a body that is not JSON. */
	readonly example: object;
	/** Default: 4096. */
	readonly maxBytes?: number;
}

/** Body read by the handler. */
export interface RawBody {
	readonly type: "raw";
	readonly description?: string;
	/** By media type. */
	readonly content: Fields;
	readonly isOptional?: boolean;
}

/** Response written by the handler. */
export interface RawReply {
	readonly type: "raw";
	/** By media type. */
	readonly content: Fields;
	/** Whether http/file.ts serves it, with ranges and conditional requests. */
	readonly isFile?: boolean;
}

export type RouteTable = Readonly<Record<RouteName, RouteDefinition>>;

/** @param extension folder of the extension that serves the routes; null: the core */
export function defineRoutes<const T extends RouteTable>(extension: string | null, routes: T) {
	return { extension, routes } as const;
}

export function json<S extends Schema>(
	schema: S,
	example: object,
	options: Omit<JsonBody, "type" | "schema" | "example"> = {},
) {
	return { type: "json", schema, example, ...options } as const;
}

/** @param type media type */
export function binary(type: string, options: { readonly isFile?: boolean } = {}) {
	return { type: "raw", content: { [type]: { type: "binary" } }, ...options } as const;
}

/** Reply to a `POST` that starts a job. */
export const jobId = closed({ id: text });

type PathParams<P extends string> = P extends `${string}:${infer N}/${infer R}`
	? Readonly<Record<N, string>> & PathParams<`/${R}`>
	: P extends `${string}:${infer N}`
		? Readonly<Record<N, string>>
		: unknown;

/** Parameters of a path such as `/api/devices/:deviceId`. */
export type ParamsOf<N> = N extends `${Method} ${infer P}` ? PathParams<P> : never;

export type QueryOf<R> = R extends { readonly query: infer Q } ? FieldsOf<Q> : unknown;
/** The validated body. */
export type BodyOf<R> = R extends { readonly body: { readonly type: "json"; readonly schema: infer S } }
	? Infer<S>
	: undefined;
/** Result of a function without a return value. */
type NoReply = ReturnType<() => void>;
export type ReplyOf<R> = R extends { readonly reply: infer S }
	? S extends { readonly type: "raw" }
		? NoReply
		: InferShape<S>
	: NoReply;
/** Undefined only where no person needs to be logged in. */
export type PersonOf<R> = R extends { readonly roles: null } | { readonly devices: true }
	? Person | undefined
	: Person;

/** Descriptions of the status 507. */
export const notWrittenYet =
	"The change is in effect but not written to disk yet; writing is retried every second. With several gateways 503.";
export const notRemoved = "Removing it from disk failed; nothing was changed. With several gateways 503.";
