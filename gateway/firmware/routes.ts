/** Routes for uploads, catalog and update history. */

import type { Request } from "express";
import { networkOf, remoteAddressOf } from "../access/origin.js";
import type { AddressLimit } from "../access/rates.js";
import { firmwareRoutes, type PastUpdate, type UploadStatus } from "../api/firmware.js";
import { setBody } from "../http/request-body.js";
import { type Route, serve } from "../http/routes.js";
import { allowSlowBody } from "../http/server.js";
import { RequestError } from "../problem.js";
import type { Releases } from "./catalog.js";
import { receiveUpload, type UploadOptions } from "./upload.js";
import type { Upload } from "./upload-store.js";

export interface FirmwareRoutesOptions {
	readonly upload: UploadOptions;
	readonly catalog: Releases;
	/** Newest first. */
	readonly latestUpdates: (count: number) => readonly PastUpdate[];
	readonly uploadsByAddress: AddressLimit;
	readonly onUploaded: (upload: Upload) => void;
}

/** Each may take as much disk as one upload. */
const uploadsAtOnce = 8;
const uploadsOfOneAddress = 4;
const historyLength = 200;

export function createFirmwareRoutes(options: FirmwareRoutesOptions): readonly Route[] {
	const { upload, catalog, latestUpdates } = options;
	const receive = uploadReceiver(options);
	return serve(firmwareRoutes, {
		"POST /ota/upload": async ({ request, response }) => {
			const stored = await receive(request);
			setBody(request, { version: stored.version, model: stored.model });
			response.set({ Location: "firmware.bin", "Cache-Control": "no-cache" });
			return describeUpload(upload, stored);
		},
		"GET /ota/status": ({ response }) => {
			response.set("Cache-Control", "no-cache");
			return describeUpload(upload);
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

/** @returns a function that receives an upload, unless too many are running */
function uploadReceiver({ upload, uploadsByAddress, onUploaded }: FirmwareRoutesOptions) {
	/** By address. */
	const running: string[] = [];
	return async (request: Request): Promise<Upload> => {
		const rejection = uploadsByAddress.count(request);
		if (rejection) throw new RequestError(rejection.status, rejection.detail, rejection.headers);
		const address = networkOf(remoteAddressOf(request));
		const ofAddress = running.filter((each) => each === address).length;
		const detail = `${ofAddress} uploads of yours and ${running.length} in all are running; try again when some have ended.`;
		if (ofAddress >= uploadsOfOneAddress || running.length >= uploadsAtOnce)
			throw new RequestError(429, detail, { "Retry-After": "5" });
		running.push(address);
		try {
			allowSlowBody(request);
			const stored = await receiveUpload(request, upload);
			onUploaded(stored);
			return stored;
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
