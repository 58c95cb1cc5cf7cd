/** Range requests (RFC 9110, section 14). */

import type { IncomingMessage, ServerResponse } from "node:http";

/** Sends the requested part of a file; 404 without a file or a closed range. */
export function sendRange(
	{ headers: { range } }: Pick<IncomingMessage, "headers">,
	response: ServerResponse,
	file: Uint8Array | undefined,
): void {
	const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
	if (!file || first === undefined) return void response.writeHead(404).end();
	const part = file.subarray(Number(first), Number(last) + 1);
	const end = Number(first) + part.length - 1;
	response.writeHead(206, {
		"Content-Length": part.length,
		"Content-Range": `bytes ${first}-${end}/${file.length}`,
	});
	response.end(part);
}
