/** Typed HTTP requests to the gateway: a route's name determines its parameters, body and reply. */

import type { BodyOf, ParamsOf, QueryOf, ReplyOf } from "../route.js";
import type { Routes } from "../routes.js";

interface RequestOptions {
	/** Binary body, instead of `body`. */
	readonly file?: Uint8Array<ArrayBuffer>;
	/** Media type of `file`; default: audio/wav. */
	readonly fileType?: string;
	/** Sent as If-Match: the request is executed only while the resource has this revision. */
	readonly revision?: number;
	/** Sends HEAD in place of GET. */
	readonly isHead?: boolean;
}

type Params<N> = unknown extends ParamsOf<N> ? unknown : { readonly params: ParamsOf<N> };
type Query<R> = R extends { readonly query: object } ? OptionalIfEmpty<"query", QueryOf<R>> : unknown;
type Body<R> = R extends { readonly body: { readonly type: "json" } }
	? { readonly body: Loose<BodyOf<R>> }
	: unknown;
/** Optional fields may be undefined: JSON leaves them out. */
type Loose<T> = T extends object
	? { readonly [K in keyof T]: Loose<T[K]> | (object extends Pick<T, K> ? undefined : never) }
	: T;
type OptionalIfEmpty<K extends string, V> = object extends V
	? { readonly [N in K]?: V }
	: { readonly [N in K]: V };
/** Body of a request to a route. */
export type RequestBody<N extends keyof Routes> = Loose<BodyOf<Routes[N]>>;
/** Parameters, query and body of a route. */
export type RequestOf<T, N extends keyof T> = Params<N> & Query<T[N]> & Body<T[N]> & RequestOptions;
type Arguments<I> = object extends I ? [input?: I] : [input: I];

/** The gateway rejected the request; the message says what to change. */
export class Rejection extends Error {
	/** HTTP status; 0: there was no response. */
	readonly status: number;

	constructor(status: number, message: string, options?: ErrorOptions) {
		super(message, options);
		this.status = status;
	}
}

export interface Client<T> {
	/** @returns the reply @throws {Rejection} */
	request<N extends keyof T & string>(name: N, ...input: Arguments<RequestOf<T, N>>): Promise<ReplyOf<T[N]>>;
	/** @returns null where the gateway responds with 404, as one without that extension does @throws {Rejection} */
	requestIfFound<N extends keyof T & string>(
		name: N,
		...input: Arguments<RequestOf<T, N>>
	): Promise<ReplyOf<T[N]> | null>;
	/** @returns the content of a file @throws {Rejection} */
	requestFile<N extends keyof T & string>(
		name: N,
		...input: Arguments<RequestOf<T, N>>
	): Promise<ArrayBuffer>;
	/** @returns a response whose body is not read yet @throws {Rejection} */
	respond<N extends keyof T & string>(name: N, ...input: Arguments<RequestOf<T, N>>): Promise<Response>;
}

export interface ClientOptions {
	/** Base URL without a trailing slash, such as `http://127.0.0.1:8080`; default: the address of the page. */
	readonly base?: string;
	readonly headers?: Readonly<Record<string, string>>;
}

interface Input extends RequestOptions {
	readonly params?: unknown;
	readonly query?: unknown;
	readonly body?: object;
}

/** @typeParam T definitions of the routes, by their names */
export function createClient<T = Routes>({ base, headers = {} }: ClientOptions = {}): Client<T> {
	const respond = async (name: string, input: Input = {}): Promise<Response> => {
		const { body, file, fileType = "audio/wav", revision, isHead } = input;
		const [verb = "GET"] = name.split(" ");
		const method = isHead ? "HEAD" : verb;
		const fields = {
			...headers,
			...(body && { "Content-Type": "application/json" }),
			...(file && { "Content-Type": fileType }),
			...(revision !== undefined && { "If-Match": `"${revision}"` }),
		};
		const content = file ?? (body && JSON.stringify(body));
		const options = { method, headers: fields, ...(content && { body: content }) };
		const path = addressOf(name, input);
		const response = await fetch(base === undefined ? path.slice(1) : base + path, options).catch(
			(cause: unknown) => {
				throw new Rejection(0, "The gateway is unreachable.", { cause });
			},
		);
		if (!response.ok)
			throw new Rejection(response.status, problemDetail(response.status, await response.text()));
		return response;
	};
	const request = async (name: string, input?: Input) =>
		JSON.parse((await (await respond(name, input)).text()) || "null");
	return {
		request,
		requestIfFound: (name, ...[input]) =>
			request(name, input).catch((error: unknown) => {
				if (error instanceof Rejection && error.status === 404) return null;
				throw error;
			}),
		requestFile: async (name, ...[input]) => (await respond(name, input)).arrayBuffer(),
		respond: (name, ...[input]) => respond(name, input),
	};
}

/** Path of a route with its parameters and query filled in. */
export function addressOf(
	name: string,
	{ params = {}, query = {} }: Pick<Input, "params" | "query">,
): string {
	const [, path = ""] = name.split(" ");
	const values = new Map(Object.entries(Object(params)));
	const filled = path.replaceAll(/:(\w+)/g, (_, param) => encodeURIComponent(String(values.get(param))));
	const fields = Object.entries(Object(query)).flatMap(([field, value]) =>
		value === undefined ? [] : [[field, String(value)] satisfies [string, string]],
	);
	return fields.length > 0 ? `${filled}?${new URLSearchParams(fields)}` : filled;
}

/** The `detail` of problem+json (RFC 9457). A response without it comes from a proxy in front of the gateway. */
export function problemDetail(status: number, text: string): string {
	try {
		const problem: { detail?: string } = JSON.parse(text);
		if (problem.detail) return problem.detail;
	} catch {
		// Not JSON: nginx's error page, for example.
	}
	if (status === 413)
		return "A proxy in front of the gateway rejected this as too large (413): raise its limit, in nginx client_max_body_size.";
	if (status >= 502 && status <= 504) return `A proxy cannot reach the gateway (${status}).`;
	return `The response is not the gateway's but another program's, such as a proxy in front of it (${status}).`;
}
