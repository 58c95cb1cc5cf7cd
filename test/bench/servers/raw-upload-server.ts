/** Reference for uploads: a bare server that writes the bytes of a request to a file and syncs it. */

import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { portOf } from "../../support/ports.js";
import { serve } from "../child.js";
import { usage } from "./usage.js";

const folder = mkdtempSync(join(tmpdir(), "raw-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
	const file = await open(join(folder, "upload.bin"), "w");
	for await (const chunk of request) await file.write(chunk);
	await file.sync();
	await file.close();
	response.writeHead(201).end("{}");
});

const handlers = {
	listen: async () => {
		server.listen(0, "127.0.0.1");
		await once(server, "listening");
		return { url: `http://127.0.0.1:${portOf(server)}` };
	},
	usage: ({ isSettled }: { isSettled: boolean }) => usage(isSettled),
};
export type RawUploadServer = typeof handlers;
serve(handlers);
