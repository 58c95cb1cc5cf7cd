/**
 * The addresses under which firmware comes and goes: interface specification, section 4.4. Everything that goes wrong
 * here is answered as problem+json, since most who ask are devices and scripts.
 */

import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from "express";
import type { AddressLimit } from "../access/address-limit.js";
import { sendBinary } from "./binaries.js";
import type { CatalogFile } from "./catalog.js";
import { HttpProblem, sendProblemEarly } from "./http-problem.js";
import { type Library, UnusableRelease } from "./library.js";
import { ClientGone, receiveUpload, type UploadOptions } from "./upload.js";
import type { Upload } from "./upload-store.js";

export interface FirmwareRoutesOptions {
	readonly upload: UploadOptions;
	readonly library: Library;
	readonly catalog: CatalogFile;
	/** The latest updates of all devices, the latest first. */
	readonly latestUpdates: (count: number) => readonly object[];
	/** Lets those pass who may upload. */
	readonly requireMonitor: RequestHandler;
	readonly uploadsByAddress: AddressLimit;
	/** Lets devices and monitors pass. */
	readonly requireAny: RequestHandler;
	/** An upload was taken. */
	readonly onUploaded: (upload: Upload) => void;
	/** A request failed through no fault of the client. */
	readonly onError: (error: unknown) => void;
}

/** Each may fill the disk with as much as one upload may have. */
const uploadsAtOnce = 4;
/** Updates that `/ota/history` tells of. */
const historyLength = 200;
const yearInSeconds = 31_536_000;

export function createFirmwareRoutes(options: FirmwareRoutesOptions): Router {
	const { upload, library, catalog, requireAny, requireMonitor } = options;
	const { store } = upload;
	const router = Router({ caseSensitive: true, strict: true });
	let uploading = 0;

	const get = (path: string, handler: (request: Request, response: Response) => Promise<void>) =>
		router.route(path).get(requireAny, handler).all(refuseMethod("GET, HEAD"));

	router
		.route("/ota/upload")
		.post(requireMonitor, async (request, response) => {
			const refusal = await options.uploadsByAddress.count(request);
			if (refusal) throw new HttpProblem(refusal.status, refusal.detail, refusal.headers);
			if (uploading >= uploadsAtOnce)
				throw new HttpProblem(429, `${uploadsAtOnce} uploads are running; try again when they have ended.`, {
					"Retry-After": "5",
				});
			uploading += 1;
			try {
				const stored = await receiveUpload(request, upload);
				options.onUploaded(stored);
				response.status(201).set("Location", "/ota/firmware.bin").json(describeUpload(stored));
			} finally {
				uploading -= 1;
			}
		})
		.all(refuseMethod("POST"));

	get("/ota/status", async (_request, response) => {
		response.set("Cache-Control", "no-cache").json(describeUpload(store.current));
	});

	get("/ota/catalog", async (_request, response) => {
		response.set("Cache-Control", "no-cache").json(await catalog.read());
	});

	router
		.route("/ota/history")
		.get(requireMonitor, (_request, response) => {
			response.set("Cache-Control", "no-cache").json({ updates: options.latestUpdates(historyLength) });
		})
		.all(refuseMethod("GET, HEAD"));

	get("/ota/firmware.bin", async (request, response) => {
		const found = await library.openUpload();
		if (!found) throw new HttpProblem(404, "No firmware was uploaded yet; POST one to /ota/upload.");
		sendBinary(request, response, found.file, { filename: found.upload.filename, caching: "no-cache" });
	});

	get("/releases/*path", async (request, response) => {
		const file = await library.openRelease(decodeURIComponent(request.path));
		if (!file) throw new HttpProblem(404, "The catalog names no such file; see /ota/catalog.");
		const filename = request.path.slice(request.path.lastIndexOf("/") + 1);
		sendBinary(request, response, file, { filename, caching: `max-age=${yearInSeconds}, immutable` });
	});

	return router.use(answerError(options.onError));
}

/** The body of `GET /ota/status`: all fields, whatever is known. */
function describeUpload(upload: Upload | undefined) {
	return {
		filename: upload?.filename ?? null,
		size: upload?.size ?? 0,
		upload_time: upload?.upload_time ?? null,
		sha256: upload?.sha256 ?? null,
		version: upload?.version ?? null,
		model: upload?.model ?? null,
		chip: upload?.chip ?? null,
	};
}

function refuseMethod(allow: string): RequestHandler {
	return (request) => {
		throw new HttpProblem(405, `${request.method} does not work here; ${allow} does.`, { Allow: allow });
	};
}

function answerError(onError: (error: unknown) => void): ErrorRequestHandler {
	return (error: unknown, _request, response, next) => {
		if (error instanceof ClientGone) return;
		if (response.headersSent) return next(error);
		const problem = asProblem(error);
		if (problem.status >= 500) onError(error);
		sendProblemEarly(response, problem);
	};
}

function asProblem(error: unknown): HttpProblem {
	if (error instanceof HttpProblem) return error;
	// The release is being made anew at this moment, or needs to be: a device may try again.
	if (error instanceof UnusableRelease) return new HttpProblem(503, error.message, { "Retry-After": "10" });
	if (error instanceof URIError) return new HttpProblem(400, "This address is not well formed.");
	return new HttpProblem(500, "The gateway failed at this; its log says why.");
}
