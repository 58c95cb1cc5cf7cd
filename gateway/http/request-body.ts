/** Reads a small request body; body-parser would read one that is too large to its end. */

import type { IncomingMessage } from "node:http";
import {
	describeProblem,
	findProblem,
	type Infer,
	matches,
	type Schema,
} from "../../device/protocol/schema.js";
import { parseJson } from "../json.js";
import { HttpProblem } from "../problem.js";

export const maxBodyBytes = 4096;
const bodyMs = 10_000;
/** What `readJson` has read. */
const bodies = new WeakMap<IncomingMessage, unknown>();

/** @returns undefined if it was not JSON, or not read yet */
export function bodyOf(request: IncomingMessage): unknown {
	return bodies.get(request);
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
 * @param example for the refusal
 * @param maxBytes of the body
 * @throws {HttpProblem} if the body is not JSON, or does not match
 */
export async function readJson<S extends Schema>(
	request: IncomingMessage,
	schema: S,
	example: string,
	maxBytes = maxBodyBytes,
): Promise<Infer<S>> {
	const value = parseJson((await readBody(request, maxBytes)) ?? "");
	if (value === undefined)
		throw new HttpProblem(400, `Send JSON of at most ${maxBytes >> 10} KiB, such as ${example}.`);
	bodies.set(request, value);
	if (!matches(schema, value)) throw new HttpProblem(422, `${describeProblem(findProblem(schema, value))}.`);
	return value;
}
