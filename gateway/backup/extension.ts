/** `GET /api/backup`: downloads a back-up of the running gateway. */

import { pipeline } from "node:stream/promises";
import { create as contentDisposition } from "content-disposition";
import { Router } from "express";
import packageFile from "../../package.json" with { type: "json" };
import type { Core, Extension } from "../extension.js";
import { readQuery } from "../http/request-body.js";
import { HttpProblem, refuseMethod } from "../problem.js";
import { isoTime } from "../sessions/view.js";
import { contentsOf, skippedBy } from "./contents.js";

export function createBackup(core: Core): Extension {
	const { requirePerson, now, log } = core;
	const routes = Router({ caseSensitive: true, strict: true });
	routes
		.route("/api/backup")
		.get(requirePerson, async (request, response) => {
			const withImages = readQuery(request, "releases") === "1";
			const skipped = await skippedBy(core, withImages).catch((error: Error) => {
				throw new HttpProblem(500, `The back-up would not be complete: ${error.message}.`);
			});
			const createdAt = isoTime(now());
			response.set({
				"Cache-Control": "no-store",
				"Content-Disposition": contentDisposition(`backup-${createdAt.slice(0, 10)}.tar.gz`),
				"Content-Type": "application/gzip",
			});
			if (request.method === "HEAD") return void response.end();
			// Its library takes memory, which a gateway needs only here.
			const { writeArchive } = await import("./archive.js");
			const files = contentsOf(core, withImages);
			try {
				await pipeline(
					writeArchive(files, () => ({ gateway: packageFile.version, createdAt, skipped })),
					response,
				);
				if (skipped.length > 0)
					log.warn({ skipped }, "back-up: files that are not the gateway's are not in it");
			} catch (error) {
				// It breaks off before backup.json: no one takes it for a whole one.
				if (!request.socket.destroyed) log.error({ err: error }, "back-up: not finished");
				response.destroy();
			}
		})
		.all(refuseMethod("GET, HEAD"));
	return { routes };
}
