/** Streams a long list as JSON in chunks, to avoid blocking the event loop. */

import type { Response } from "express";

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
	response.set("Cache-Control", "no-store").type("json");
	let chunk = `{${JSON.stringify(name)}:[`;
	let separator = "";
	for await (const item of items) {
		const text = textOf(item);
		if (text === undefined) continue;
		chunk += separator + text;
		separator = ",";
		if (chunk.length < chunkCharacters) continue;
		if (!response.write(chunk)) await drained(response);
		chunk = "";
		await yieldToLoop();
		if (response.closed) return;
	}
	response.end(`${chunk}]}`);
}

/** Resolves when the client has read the data, or has disconnected. */
function drained(response: Response): Promise<void> {
	return new Promise((resolve) => {
		const end = () => {
			response.off("drain", end).off("close", end);
			resolve();
		};
		response.on("drain", end).on("close", end);
	});
}
