/** Streams a long list as JSON in pieces, to avoid blocking the event loop. */

import type { Response } from "express";

/** About 3 ms of work. */
const pieceCharacters = 64 * 1024;

/**
 * Sends `{"<name>":[…]}`. Ends early if the client has gone.
 * @param textOf an item as JSON; undefined: it is left out
 * @param yieldToLoop awaited after each piece
 */
export async function sendList<T>(
	response: Response,
	name: string,
	items: Iterable<T> | AsyncIterable<T>,
	textOf: (item: T) => string | undefined,
	yieldToLoop: () => Promise<void>,
): Promise<void> {
	response.set("Cache-Control", "no-store").type("json");
	let piece = `{${JSON.stringify(name)}:[`;
	let separator = "";
	for await (const item of items) {
		const text = textOf(item);
		if (text === undefined) continue;
		piece += separator + text;
		separator = ",";
		if (piece.length < pieceCharacters) continue;
		if (!response.write(piece)) await drained(response);
		piece = "";
		await yieldToLoop();
		if (response.closed) return;
	}
	response.end(`${piece}]}`);
}

/** Resolves once the client has read, or has gone. */
function drained(response: Response): Promise<void> {
	return new Promise((resolve) => {
		const end = () => {
			response.off("drain", end).off("close", end);
			resolve();
		};
		response.on("drain", end).on("close", end);
	});
}
