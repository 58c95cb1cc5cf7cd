/** Serves firmware binaries to clients with a valid token. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Access } from "../access/access.js";
import { parseUrl } from "../access/origin.js";
import { binaryRoutes } from "../api/firmware.js";
import { sendFile } from "../http/file.js";
import { methodNotAllowed, type SendError, sendProblem } from "../problem.js";
import { type FirmwareRepository, uploadPath } from "./repository.js";

/** @returns false if the path is not the path of a binary */
export type Binaries = (request: IncomingMessage, response: ServerResponse) => boolean;

const readers = ["device", ...binaryRoutes.routes["GET /ota/firmware.bin"].roles] as const;
const releasesPath = "/releases/";
/** Maximum age of the tokens read from disk, as every block of an image is a request. */
const tokenAgeMs = 1000;

/** Handles requests before Express, whose overhead exceeds the time to send a block. */
export function createBinaries(
	repository: FirmwareRepository,
	access: Pick<Access, "check">,
	sendError: SendError,
): Binaries {
	const answer = async (request: IncomingMessage, response: ServerResponse, { pathname, search }: Target) => {
		const { method } = request;
		if (method !== "GET" && method !== "HEAD")
			return sendProblem(response, methodNotAllowed(method, "GET, HEAD"));
		const { rejection } = await access.check(request, readers, tokenAgeMs);
		if (rejection) return sendProblem(response, rejection);
		sendFile(request, response, await repository.open(pathname, search));
	};
	return (request, response) => {
		const target = parseTarget(request.url ?? "");
		const { pathname } = target;
		if (pathname !== uploadPath && !pathname.startsWith(releasesPath)) return false;
		answer(request, response, target).catch((error: unknown) => sendError(error, response));
		return true;
	};
}

type Target = Pick<URL, "pathname" | "search">;

/** Parses a request target, which a proxy may send with scheme and host (RFC 9112, 3.2.2). */
function parseTarget(target: string): Target {
	if (!target.startsWith("/")) return parseUrl(target) ?? { pathname: "", search: "" };
	const query = target.indexOf("?");
	if (query < 0) return { pathname: target, search: "" };
	return { pathname: target.slice(0, query), search: target.slice(query) };
}
