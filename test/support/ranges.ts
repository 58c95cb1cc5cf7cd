/** Range requests (RFC 9110, section 14). */

import type { IncomingMessage, ServerResponse } from "node:http";

/** Sends a file, or the requested part of it; 404 without a file. */
export function sendRange(
	{ headers: { range } }: Pick<IncomingMessage, "headers">,
	response: ServerResponse,
	file: Uint8Array | undefined,
): void {
	if (!file) return void response.writeHead(404).end();
	const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range ?? "") ?? [];
	const part = file.subarray(Number(first ?? 0), last ? Number(last) + 1 : undefined);
	response.setHeader("Content-Length", part.length);
	if (first !== undefined) {
		response.statusCode = 206;
		response.setHeader("Content-Range", `bytes ${first}-${Number(first) + part.length - 1}/${file.length}`);
	}
	response.end(part);
}
