/** Streams a long list as JSON in chunks, to avoid blocking the event loop. */

import { pipeline } from "node:stream/promises";
import type { Response } from "express";
import { errorCode } from "../problem.js";

/** Length of a chunk, which takes about 3 ms to serialize. */
const chunkCharacters = 64 * 1024;

/**
 * Sends `{"<name>":[…]}`. Stops if the client disconnects.
 * @param textOf serializes an item as JSON; undefined: the item is skipped
 * @param yieldToLoop awaited after each chunk
 */
export async function sendList<T>(
	response: Response,
	name: string,
	items: Iterable<T> | AsyncIterable<T>,
	textOf: (item: T) => string | undefined,
	yieldToLoop: () => Promise<void>,
): Promise<void> {
	async function* chunks(): AsyncGenerator<string> {
		let chunk = `{${JSON.stringify(name)}:[`;
		let separator = "";
		for await (const item of items) {
			const text = textOf(item);
			if (text === undefined) continue;
			chunk += separator + text;
			separator = ",";
			if (chunk.length < chunkCharacters) continue;
			yield chunk;
			chunk = "";
			await yieldToLoop();
		}
		yield `${chunk}]}`;
	}
	response.set("Cache-Control", "no-store").type("json");
	await pipeline(chunks, response).catch((error: unknown) => {
		if (errorCode(error) !== "ERR_STREAM_PREMATURE_CLOSE") throw error;
	});
}
