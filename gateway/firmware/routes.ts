/** Routes for uploads, catalog and update history: interface specification, section 4.4. */

import { type RequestHandler, Router } from "express";
import type { Access } from "../access/access.js";
import { networkOf, remoteAddressOf } from "../access/origin.js";
import type { PastUpdate, UploadStatus } from "../api/firmware.js";
import { setBody } from "../http/request-body.js";
import { mayTakeLong } from "../http/server.js";
import { HttpProblem, refuseMethod } from "../problem.js";
import type { AddressLimit } from "../rates.js";
import type { Releases } from "./catalog.js";
import { receiveUpload, type UploadOptions } from "./upload.js";
import type { Upload } from "./upload-store.js";

export interface FirmwareRoutesOptions {
	readonly upload: UploadOptions;
	readonly catalog: Releases;
	/** Newest first. */
	readonly latestUpdates: (count: number) => readonly PastUpdate[];
	readonly access: Pick<Access, "requirePerson" | "requireAnyToken">;
	readonly uploadsByAddress: AddressLimit;
	readonly onUploaded: (upload: Upload) => void;
}

/** Each may take as much disk as one upload. */
const uploadsAtOnce = 8;
const uploadsOfOneAddress = 4;
const historyLength = 200;

export function createFirmwareRoutes(options: FirmwareRoutesOptions): Router {
	const { upload, catalog, latestUpdates, access } = options;
	const { requirePerson, requireAnyToken } = access;
	const router = Router({ caseSensitive: true, strict: true });
	const get = (path: string, guard: RequestHandler, body: () => unknown) =>
		router
			.route(path)
			.get(guard, async (_request, response) => {
				response.set("Cache-Control", "no-cache").json(await body());
			})
			.all(refuseMethod("GET, HEAD"));

	router.route("/ota/upload").post(requirePerson, uploadHandler(options)).all(refuseMethod("POST"));
	get("/ota/status", requireAnyToken, () => describeUpload(upload));
	get("/ota/catalog", requireAnyToken, () => catalog.read());
	get("/ota/history", requirePerson, () => ({ updates: latestUpdates(historyLength) }));
	return router;
}

function uploadHandler({ upload, uploadsByAddress, onUploaded }: FirmwareRoutesOptions): RequestHandler {
	/** By address. */
	const running: string[] = [];
	return async (request, response) => {
		const refusal = uploadsByAddress.count(request);
		if (refusal) throw new HttpProblem(refusal.status, refusal.detail, refusal.headers);
		const address = networkOf(remoteAddressOf(request));
		const ofAddress = running.filter((each) => each === address).length;
		const detail = `${ofAddress} uploads of yours and ${running.length} in all are running; try again when some have ended.`;
		if (ofAddress >= uploadsOfOneAddress || running.length >= uploadsAtOnce)
			throw new HttpProblem(429, detail, { "Retry-After": "5" });
		running.push(address);
		try {
			mayTakeLong(request);
			const stored = await receiveUpload(request, upload);
			onUploaded(stored);
			setBody(request, { version: stored.version, model: stored.model });
			response.status(201).set("Location", "firmware.bin").json(describeUpload(upload, stored));
		} finally {
			running.splice(running.indexOf(address), 1);
		}
	};
}

const noUpload = {
	filename: null,
	size: 0,
	upload_time: null,
	sha256: null,
	version: null,
	model: null,
	chip: null,
	signature: null,
};

function describeUpload({ store, releaseKeys }: UploadOptions, upload = store.current): UploadStatus {
	return { ...noUpload, ...upload, signature_required: releaseKeys.length > 0 };
}
