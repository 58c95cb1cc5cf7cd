/** Reads small request bodies and query fields. Unlike body-parser, it stops reading a body that is too large. */

import type { IncomingMessage } from "node:http";
import { setImmediate } from "node:timers/promises";
import {
	describeProblem,
	findProblem,
	type Infer,
	isRecord,
	matches,
	type Schema,
} from "../../device/protocol/schema.js";
import { parseJson, pick } from "../api/json.js";
import type { JsonBody } from "../api/route.js";
import { RequestError } from "../problem.js";

const maxBodyBytes = 4096;
const bodyMs = 10_000;
/** Length above which a body is processed in several turns of the event loop. */
const longCharacters = 64 * 1024;

/** Record of a request in the audit log. */
interface RecordedChange {
	/** Default: the name of the route. */
	readonly what?: string;
	/** Default: the body, if it is JSON. */
	readonly after?: object;
	/** Previous values of some of the fields. */
	readonly before?: object;
}

const recorded = new WeakMap<IncomingMessage, RecordedChange>();

export function recordChange(request: IncomingMessage, change: RecordedChange): void {
	recorded.set(request, { ...recorded.get(request), ...change });
}

export function recordedChange(request: IncomingMessage): RecordedChange {
	return recorded.get(request) ?? {};
}

/** Reads a body as text. @returns undefined if it exceeds `maxBytes`, takes more than 10 s, or is incomplete */
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
 * Reads and validates a JSON body.
 * @throws {RequestError} 400 if the body is not JSON or too large, 422 if it does not match the schema
 */
export async function readJson(
	request: IncomingMessage,
	{ schema, example, maxBytes = maxBodyBytes }: JsonBody,
): Promise<unknown> {
	const text = (await readBody(request, maxBytes)) ?? "";
	const value = parseJson(text);
	// Each step takes long for a long text, so other events are handled in between.
	const isLong = text.length > longCharacters;
	const advice = `Send JSON of at most ${maxBytes >> 10} KiB, such as ${JSON.stringify(example)}.`;
	if (value === undefined) throw new RequestError(400, advice);
	if (isLong) await setImmediate();
	const picked = pick(schema, value);
	if (isLong) await setImmediate();
	const checked = requireValid(schema, picked);
	if (isRecord(checked)) recordChange(request, { after: checked });
	return checked;
}

/** Returns the value if it matches the schema. @throws {RequestError} 422 */
export function requireValid<S extends Schema>(schema: S, value: unknown): Infer<S> {
	if (matches(schema, value)) return value;
	throw new RequestError(422, `${describeProblem(findProblem(schema, value))}.`);
}
