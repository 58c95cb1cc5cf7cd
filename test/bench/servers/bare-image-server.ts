/**
 * Minimum cost of an image in Node's HTTP server: `node:http` with parts of one Buffer, and only the fields that a
 * device needs. It checks no token, condition or bound.
 */

import { once } from "node:events";
import { createServer } from "node:http";
import { portOf } from "../../support/ports.js";
import { serve } from "../child.js";
import { makeImage } from "../firmware.js";
import { usage } from "./usage.js";

let image: Buffer = Buffer.alloc(0);

const server = createServer(({ headers }, response) => {
	const [, first = 0, last = image.length - 1] = /(\d+)-(\d+)/.exec(headers.range ?? "")?.map(Number) ?? [];
	const length = last - first + 1;
	response
		.writeHead(headers.range === undefined ? 200 : 206, [
			"Content-Length",
			String(length),
			"Content-Range",
			`bytes ${first}-${last}/${image.length}`,
		])
		.end(image.subarray(first, last + 1));
});

const handlers = {
	/** @param imageBytes size of the image, as of `makeImage` */
	listen: async (imageBytes: number) => {
		image = makeImage(imageBytes);
		server.listen(0, "127.0.0.1");
		await once(server, "listening");
		return { url: `http://127.0.0.1:${portOf(server)}` };
	},
	usage: ({ isSettled }: { isSettled: boolean }) => usage(isSettled),
};
export type BareImageServer = typeof handlers;
serve(handlers);
