/**
 * The firmware room as the gateway sees it: makes its parts and wires them. No other file knows how they hang together,
 * and a test puts a room of its own in its place.
 */

import { X509Certificate } from "node:crypto";
import disk from "node:fs/promises";
import { join } from "node:path";
import type { Router } from "express";
import type { Logger } from "pino";
import type { Access } from "../access/access.js";
import { AddressLimit } from "../access/address-limit.js";
import { RecordFolder } from "../record-folder.js";
import type { Device, OtaMetadata } from "../sessions/device.js";
import type { Updates as GatewayUpdates } from "../sessions/updates.js";
import type { Settings } from "../settings.js";
import { type Binaries, createBinaries } from "./binaries.js";
import { openCatalog } from "./catalog.js";
import { createAnswerError } from "./http-problem.js";
import { createImageFiles } from "./image-files.js";
import { Library } from "./library.js";
import { createFirmwareRoutes } from "./routes.js";
import { jobsFile } from "./update-job.js";
import { Updates } from "./updates.js";
import { UploadStore } from "./upload-store.js";

export interface FirmwareRoomOptions {
	readonly settings: Settings;
	/** `access.require("monitor")` before uploads, `access.require("device", "monitor")` before binaries. */
	readonly access: Access;
	readonly log: Logger;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Sets how a device's update stands and tells every monitor. */
	readonly setOta: (device: Device, metadata: OtaMetadata) => void;
}

export interface FirmwareRoom {
	/** `/ota/firmware.bin` and `/releases/*`. */
	readonly binaries: Binaries;
	/** All other addresses below `/ota`. */
	readonly router: Router;
	readonly updates: GatewayUpdates;
	/** Called before the gateway listens. @throws {NodeJS.ErrnoException} where its folder cannot be used */
	open(): Promise<void>;
	/** Stops timers; nothing is reported any more. */
	close(): Promise<void>;
}

/** A release that is made anew while devices fetch the old one is noticed after so long. */
const recheckMs = 1000;

export type CreateFirmwareRoom = (options: FirmwareRoomOptions) => FirmwareRoom;

export const createFirmwareRoom: CreateFirmwareRoom = ({ settings, access, log, now, setOta }) => {
	const { dataDir, releasesDir, imageCheck: checkImages, maxUploadBytes: maxBytes } = settings;
	const onProblem = (sentence: string) => log.warn({ problem: sentence }, "firmware");
	const uploads = new UploadStore({ directory: join(dataDir, "firmware"), disk, now, onProblem });
	const catalog = openCatalog(releasesDir, disk, onProblem);
	const loadImage = createImageFiles(disk);
	const library = new Library({ catalog, uploads, loadImage, checkImages, recheckMs });
	const records = new RecordFolder({ directory: join(dataDir, "updates"), disk, onProblem, ...jobsFile });
	const certPem = settings.publicUrl ? undefined : findAuthority(settings.tls?.cert);
	const updates = new Updates({
		library,
		records,
		now,
		monotonic: () => performance.now(),
		setOta,
		certPem,
	});
	const answerError = createAnswerError((error) => log.error({ err: error }, "request for firmware failed"));
	const router = createFirmwareRoutes({
		upload: { store: uploads, maxBytes, checkImages },
		catalog,
		latestUpdates: (count) => updates.latest(count),
		uploadsByAddress: new AddressLimit({ points: 30, seconds: 60, what: "uploads" }),
		access,
		onUploaded: (upload) => log.info({ upload }, "firmware uploaded"),
		answerError,
	});
	return {
		binaries: createBinaries(library, access, answerError),
		router,
		updates,
		open: async () => {
			await uploads.open();
			await updates.open();
			await catalog.read();
		},
		close: () => updates.close(),
	};
};

/**
 * The certificate by which a device can check ours: the last one of the chain, where that is its own authority. Devices
 * know the public ones by themselves. One that cannot be read is refused by the HTTP server, in a sentence.
 */
function findAuthority(chain: Buffer | undefined): string | undefined {
	const pem = chain
		?.toString()
		.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)
		?.at(-1);
	if (pem === undefined) return undefined;
	try {
		const certificate = new X509Certificate(pem);
		return certificate.checkIssued(certificate) ? `${pem}\n` : undefined;
	} catch {
		return undefined;
	}
}
