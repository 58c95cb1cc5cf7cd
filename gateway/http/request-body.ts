/** Reads what a request asks for: a small body, as body-parser would read one that is too large to its end, and fields of its query. */

import type { IncomingMessage } from "node:http";
import type { Request } from "express";
import {
	describeProblem,
	findProblem,
	type Infer,
	matches,
	type Schema,
} from "../../device/protocol/schema.js";
import { parseJson, pick } from "../api/json.js";
import { RequestError } from "../problem.js";

const maxBodyBytes = 4096;
const bodyMs = 10_000;
const longCharacters = 64 * 1024;
/** Parsed bodies, for the audit log. */
const bodies = new WeakMap<IncomingMessage, unknown>();
const queries = new WeakMap<IncomingMessage, URLSearchParams>();

/** @returns what `readJson` has read, or `setBody` was given; undefined if there was nothing */
export function bodyOf(request: IncomingMessage): unknown {
	return bodies.get(request);
}

/** @returns the path of a request, and the fields of its query that were read */
export function addressOf(request: Request): string {
	const [path] = request.originalUrl.split("?");
	const query = queries.get(request);
	return query ? `${path}?${query}` : String(path);
}

/** @returns undefined if the query does not have this field, or has it twice */
export function readQuery(request: Request, name: string): string | undefined {
	const value = request.query[name];
	if (typeof value !== "string") return undefined;
	const read = queries.get(request) ?? new URLSearchParams();
	read.set(name, value);
	queries.set(request, read);
	return value;
}

/** For a body that `readJson` does not read, or of which it does not know which fields are defined. */
export function setBody(request: IncomingMessage, value: unknown): void {
	bodies.set(request, value);
}

/** @returns undefined if it is longer than `maxBytes`, takes over 10 s, or breaks off */
export function readBody(request: IncomingMessage, maxBytes = maxBodyBytes): Promise<string | undefined> {
	return new Promise((resolve) => {
		const chunks: Buffer[] = [];
		let size = 0;
		const timer = setTimeout(() => resolve(undefined), bodyMs).unref();
		request.on("data", (chunk: Buffer) => {
			size += chunk.length;
			if (size > maxBytes) resolve(undefined);
			else chunks.push(chunk);
		});
		request.once("end", () => resolve(Buffer.concat(chunks).toString()));
		request.once("close", () => {
			clearTimeout(timer);
			resolve(undefined);
		});
	});
}

/**
 * @param example for the rejection
 * @param maxBytes of the body
 * @throws {RequestError} if the body is not JSON, or does not match
 */
export async function readJson<S extends Schema>(
	request: IncomingMessage,
	schema: S,
	example: string,
	maxBytes = maxBodyBytes,
): Promise<Infer<S>> {
	const text = (await readBody(request, maxBytes)) ?? "";
	const value = parseJson(text);
	// Each step takes long for a long text; others are handled in between.
	const mayWait = () => text.length > longCharacters && new Promise<void>((resolve) => setImmediate(resolve));
	if (value === undefined)
		throw new RequestError(400, `Send JSON of at most ${maxBytes >> 10} KiB, such as ${example}.`);
	await mayWait();
	const picked = pick(schema, value);
	await mayWait();
	const checked = requireValid(schema, picked);
	setBody(request, checked);
	return checked;
}

/** @throws {RequestError} 422 */
export function requireValid<S extends Schema>(schema: S, value: unknown): Infer<S> {
	if (matches(schema, value)) return value;
	throw new RequestError(422, `${describeProblem(findProblem(schema, value))}.`);
}
