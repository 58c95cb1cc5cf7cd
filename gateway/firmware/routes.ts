/** Routes for uploads, catalog and update history. */

import type { Request } from "express";
import type { AddressLimit } from "../access/rates.js";
import { firmwareRoutes, type PastUpdate, type UploadStatus } from "../api/firmware.js";
import { recordChange } from "../http/request-body.js";
import { type Route, serve } from "../http/routes.js";
import { RequestError } from "../problem.js";
import type { CatalogFile } from "./catalog.js";
import type { FirmwareRepository } from "./repository.js";
import { receiveUpload, type UploadOptions } from "./upload.js";
import type { Upload } from "./upload-store.js";

export interface FirmwareRoutesOptions {
	readonly upload: UploadOptions;
	readonly catalog: CatalogFile;
	readonly repository: Pick<FirmwareRepository, "describeUpload">;
	/** Returns the latest updates, newest first. */
	readonly latestUpdates: (count: number) => readonly PastUpdate[];
	readonly uploadsByAddress: AddressLimit;
	readonly onUploaded: (upload: Upload) => void;
}

/** Limit of concurrent uploads, each of which may use as much disk space as MAX_UPLOAD. */
const maxUploads = 4;
const historyLength = 200;

export function createFirmwareRoutes(options: FirmwareRoutesOptions): readonly Route[] {
	const { upload, catalog, repository, latestUpdates } = options;
	const receive = uploadReceiver(options);
	return serve(firmwareRoutes, {
		"POST /ota/upload": async ({ request, response }) => {
			const stored = await receive(request);
			recordChange(request, { after: { version: stored.version, model: stored.model } });
			response.set({ Location: "firmware.bin", "Cache-Control": "no-cache" });
			return describeUpload(upload, stored);
		},
		"GET /ota/status": async ({ response }) => {
			response.set("Cache-Control", "no-cache");
			return describeUpload(upload, await repository.describeUpload());
		},
		"GET /ota/catalog": ({ response }) => {
			response.set("Cache-Control", "no-cache");
			return catalog.read();
		},
		"GET /ota/history": ({ response }) => {
			response.set("Cache-Control", "no-cache");
			return { updates: latestUpdates(historyLength) };
		},
	});
}

/** @returns function that receives an upload and throws a RequestError with 429 if too many are running */
function uploadReceiver({ upload, uploadsByAddress, onUploaded }: FirmwareRoutesOptions) {
	let running = 0;
	return async (request: Request): Promise<Upload> => {
		const rejection = uploadsByAddress.count(request);
		if (rejection) throw new RequestError(rejection.status, rejection.detail, rejection.headers);
		const detail = `${maxUploads} uploads are running, the maximum. Try again later.`;
		if (running >= maxUploads) throw new RequestError(429, detail, { "Retry-After": "5" });
		running += 1;
		try {
			const stored = await receiveUpload(request, upload);
			onUploaded(stored);
			return stored;
		} finally {
			running -= 1;
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

function describeUpload(
	{ releaseKeys }: UploadOptions,
	upload: Awaited<ReturnType<FirmwareRepository["describeUpload"]>>,
): UploadStatus {
	return { ...noUpload, ...upload, signature_required: releaseKeys.length > 0 };
}
