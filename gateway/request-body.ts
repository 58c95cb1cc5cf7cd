/** Reads a small request body; body-parser would read one that is too large to its end. */

import type { IncomingMessage } from "node:http";

export const maxBodyBytes = 4096;
const bodyMs = 10_000;

/** @returns undefined if it is longer than `maxBodyBytes`, takes over 10 s, or breaks off */
export function readBody(request: IncomingMessage): Promise<string | undefined> {
	return new Promise((resolve) => {
		const chunks: Buffer[] = [];
		let size = 0;
		const timer = setTimeout(() => resolve(undefined), bodyMs).unref();
		request.on("data", (chunk: Buffer) => {
			size += chunk.length;
			if (size > maxBodyBytes) resolve(undefined);
			else chunks.push(chunk);
		});
		request.once("end", () => resolve(Buffer.concat(chunks).toString()));
		request.once("close", () => {
			clearTimeout(timer);
			resolve(undefined);
		});
	});
}
