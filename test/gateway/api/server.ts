/** Routes of a running gateway, read from Express, and its raw responses. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { isRecord } from "../../../device/protocol/schema.js";

/** Routes handled before Express. */
const binaries = ["GET /ota/firmware.bin", "GET /releases/{path}"];

/** Routes such as "GET /releases/{path}", without static files. */
export async function routesOf(url: string): Promise<readonly string[]> {
	const app = await appOf(url);
	return [...new Set([...routesIn(app.router, ""), ...binaries])].sort();
}

/** Express application of this process at an address, captured from a request. */
async function appOf(url: string): Promise<{ readonly router: unknown }> {
	const requests: unknown[] = [];
	const note = (event: unknown) => void requests.push(isRecord(event) ? event.request : undefined);
	subscribe("http.server.request.start", note);
	await fetch(`${url}/healthz`);
	unsubscribe("http.server.request.start", note);
	const [request] = requests;
	const app = typeof request === "object" && request !== null && "app" in request ? request.app : undefined;
	if (!hasRouter(app)) throw new Error("no Express of this process answers there");
	return app;
}

function hasRouter(value: unknown): value is { readonly router: unknown } {
	return typeof value === "function" && "router" in value;
}

function routesIn(router: unknown, prefix: string): string[] {
	return layersOf(router).flatMap((layer) => {
		const { route, handle, rawPath } = layer;
		if (isRecord(route)) return pathsOf(route.path).flatMap((path) => methodsOf(route, `${prefix}${path}`));
		const mount = typeof rawPath === "string" && rawPath !== "/" ? rawPath : "";
		return routesIn(handle, `${prefix}${mount}`);
	});
}

function layersOf(router: unknown): readonly Readonly<Record<string, unknown>>[] {
	if (typeof router !== "function" || !("stack" in router) || !Array.isArray(router.stack)) return [];
	return router.stack.map(({ route, handle, rawPath }) => ({ route, handle, rawPath }));
}

function pathsOf(path: unknown): readonly string[] {
	const all: unknown[] = Array.isArray(path) ? path : [path];
	return all.map((one) => String(one).replace(/[*:](\w+)/g, "{$1}"));
}

/** Excludes `all`, which only rejects other methods. */
function methodsOf(route: Readonly<Record<string, unknown>>, path: string): string[] {
	const methods = isRecord(route.methods) ? Object.keys(route.methods) : [];
	return methods
		.filter((method) => !method.startsWith("_"))
		.map((method) => `${method.toUpperCase()} ${path}`);
}

export interface Asked {
	readonly path: string;
	readonly headers?: Readonly<Record<string, string>>;
	readonly body?: string | Buffer;
}

export interface Answered {
	readonly status: number;
	readonly headers: IncomingHttpHeaders;
	readonly body: Buffer;
}

/** Sends one request without following redirects. */
export function ask(url: string, method: string, { path, headers = {}, body }: Asked): Promise<Answered> {
	const { hostname, port } = new URL(url);
	return new Promise((resolve, reject) => {
		const agent = new Agent();
		const sent = request({ hostname, port, path, method, headers: { ...headers }, agent }, (response) => {
			const chunks: Buffer[] = [];
			response.on("data", (chunk: Buffer) => chunks.push(chunk));
			response.on("error", reject);
			response.on("end", () => {
				agent.destroy();
				resolve({
					status: response.statusCode ?? 0,
					headers: response.headers,
					body: Buffer.concat(chunks),
				});
			});
		});
		sent.on("error", reject);
		sent.end(body);
	});
}
