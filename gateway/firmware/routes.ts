/**
 * The addresses under which firmware comes and goes: interface specification, section 4.4. Everything that goes wrong
 * here is answered as problem+json, since most who ask are devices and scripts.
 */

import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from "express";
import type { AddressLimit } from "../access/address-limit.js";
import type { AnswerError } from "./answer-error.js";
import type { CatalogFile } from "./catalog.js";
import { HttpProblem, refuseMethod } from "./http-problem.js";
import { receiveUpload, type UploadOptions } from "./upload.js";
import type { Upload } from "./upload-store.js";

export interface FirmwareRoutesOptions {
	readonly upload: UploadOptions;
	readonly catalog: CatalogFile;
	/** The latest updates of all devices, the latest first. */
	readonly latestUpdates: (count: number) => readonly object[];
	/** What a request that failed is answered with. */
	readonly answerError: AnswerError;
	/** Lets those pass who may upload. */
	readonly requireMonitor: RequestHandler;
	readonly uploadsByAddress: AddressLimit;
	/** Lets devices and monitors pass. */
	readonly requireAny: RequestHandler;
	/** An upload was taken. */
	readonly onUploaded: (upload: Upload) => void;
}

/** Each may fill the disk with as much as one upload may have. */
const uploadsAtOnce = 4;
/** Updates that `/ota/history` tells of. */
const historyLength = 200;

export function createFirmwareRoutes(options: FirmwareRoutesOptions): Router {
	const { upload, catalog, requireAny, requireMonitor } = options;
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

	const answerError: ErrorRequestHandler = (error: unknown, _request, response, _next) =>
		options.answerError(error, response);
	return router.use(answerError);
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
