/** Firmware service: creates and connects its components, which are internal to this folder. */

import type { Access } from "../access/access.js";
import { trimmed } from "../access/origin.js";
import { AddressLimit } from "../access/rates.js";
import type { Base } from "../base.js";
import type { DeviceStore } from "../sessions/device-store.js";
import type { Sessions } from "../sessions/sessions.js";
import { createBinaries } from "./binaries.js";
import { CatalogFile } from "./catalog.js";
import { FirmwareRepository } from "./repository.js";
import { createFirmwareRoutes } from "./routes.js";
import { Selection } from "./selection.js";
import { jobsFile } from "./update-job.js";
import { Updates } from "./updates.js";
import { UploadStore } from "./upload-store.js";

export interface FirmwareServiceOptions extends Base {
	readonly access: Access;
	readonly sessions: Sessions;
	readonly deviceStore: Pick<DeviceStore, "save">;
}

export type FirmwareService = ReturnType<typeof createFirmwareService>;

/** Time after which a rebuilt release is served. */
const recheckMs = 1000;

export function createFirmwareService(options: FirmwareServiceOptions) {
	const { settings, access, log, metrics, now, monotonic, sendError, disk, sessions } = options;
	const { releasesDir, imageCheck: checkImages, maxUploadBytes: maxBytes, releaseKeys } = settings;
	const onProblem = (sentence: string) => log.warn({ problem: sentence }, "firmware");
	const uploads = new UploadStore({ records: options.records, blobs: options.blobs, now, onProblem });
	const catalog = new CatalogFile({ directory: releasesDir, disk, onProblem });
	const repository = new FirmwareRepository({ catalog, uploads, disk, checkImages, releaseKeys, recheckMs });
	const selection = new Selection({ catalog, uploads, repository, onProblem });
	const records = options.records({
		name: "updates",
		...jobsFile,
		onRecord: (deviceId, jobs) => updates.applyRecord(deviceId, jobs, sessions.devices.get(deviceId)),
	});
	const publicBase = settings.publicUrl && trimmed(settings.publicUrl);
	const updates: Updates = new Updates({
		selection,
		records,
		now,
		monotonic,
		upload: () => uploads.current,
		setOta: (device, metadata) => sessions.setOta(device, metadata),
		onEnded: (outcome) => metrics.updates.inc({ outcome }),
		saveDevice: (device) => options.deviceStore.save(device),
		certPemFor: (baseUrl) => (baseUrl === publicBase ? undefined : options.certificate?.authority),
	});
	const routes = createFirmwareRoutes({
		upload: { store: uploads, maxBytes, checkImages, releaseKeys },
		catalog,
		repository,
		latestUpdates: (count) => updates.latest(count),
		uploadsByAddress: new AddressLimit({ points: 30, seconds: 60, what: "uploads" }),
		onUploaded: (upload) => log.info({ upload }, "firmware uploaded"),
	});
	return {
		/** Handles `/ota/firmware.bin` and `/releases/*`. */
		binaries: createBinaries(repository, access, sendError),
		/** Routes of the other paths below `/ota`. */
		routes,
		updates,
		catalog,
		uploads,
		selection,
		/** Must be called before the gateway listens. @throws {NodeJS.ErrnoException} if its folder cannot be used */
		open: async () => {
			await uploads.open();
			await updates.open();
			await catalog.read();
			const { problem } = (await repository.describeUpload()) ?? {};
			if (problem !== undefined) onProblem(problem);
		},
		close: async () => {
			updates.close();
			await uploads.settle();
		},
	};
}
