/** Serves firmware binaries to clients with a valid token. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Access } from "../access/access.js";
import { targetOf } from "../access/origin.js";
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
	const answer = async (request: IncomingMessage, response: ServerResponse, { pathname, search }: URL) => {
		const { method } = request;
		if (method !== "GET" && method !== "HEAD")
			return sendProblem(response, methodNotAllowed(method, "GET, HEAD"));
		const { rejection } = await access.check(request, readers, tokenAgeMs);
		if (rejection) return sendProblem(response, rejection);
		sendFile(request, response, await repository.open(pathname, search));
	};
	return (request, response) => {
		const target = targetOf(request);
		if (target?.pathname !== uploadPath && !target?.pathname.startsWith(releasesPath)) return false;
		answer(request, response, target).catch((error: unknown) => sendError(error, response));
		return true;
	};
}
