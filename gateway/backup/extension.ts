/** `GET /api/backup`: downloads a backup of the running gateway. */

import { pipeline } from "node:stream/promises";
import { create as contentDisposition } from "content-disposition";
import packageFile from "../../package.json" with { type: "json" };
import { backupRoutes } from "../api/backup.js";
import type { Core, Extension } from "../extension.js";
import { serve, streamed } from "../http/routes.js";
import { RequestError } from "../problem.js";
import { isoTime } from "../sessions/view.js";
import { contentsOf, skippedBy } from "./contents.js";

export function createBackup(core: Core): Extension {
	const { now, log } = core;
	const routes = serve(backupRoutes, {
		"GET /api/backup": async ({ request, response, query: { releases } }) => {
			const withImages = releases === "1";
			const skipped = await skippedBy(core, withImages).catch((error: Error) => {
				throw new RequestError(500, `The backup would be incomplete: ${error.message}.`);
			});
			const createdAt = isoTime(now());
			response.set({
				"Cache-Control": "no-store",
				"Content-Disposition": contentDisposition(`backup-${createdAt.slice(0, 10)}.tar.gz`),
				"Content-Type": "application/gzip",
			});
			if (request.method === "HEAD") {
				response.end();
				return streamed;
			}
			// Loaded on demand, as its library takes memory.
			const { writeArchive } = await import("./archive.js");
			const files = contentsOf(core, withImages);
			try {
				await pipeline(
					writeArchive(files, () => ({ gateway: packageFile.version, createdAt, skipped })),
					response,
				);
				if (skipped.length > 0)
					log.warn({ skipped }, "backup: files that are not the gateway's are not in it");
			} catch (error) {
				// The archive ends before backup.json, so it is recognized as incomplete.
				if (!request.socket.destroyed) log.error({ err: error }, "backup: failed");
				response.destroy();
			}
			return streamed;
		},
	});
	return { routes };
}
