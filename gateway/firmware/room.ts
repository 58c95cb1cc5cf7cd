/**
 * The firmware room as the gateway sees it: makes its parts and wires them. No other file knows how they hang together,
 * and a test puts a room of its own in its place.
 */

import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import type { Router } from "express";
import type { Logger } from "pino";
import type { Access } from "../access/access.js";
import { AddressLimit } from "../access/address-limit.js";
import { trimmed } from "../access/origin.js";
import type { AnswerError } from "../problem.js";
import { RecordFolder } from "../record-folder.js";
import type { Device, OtaMetadata } from "../sessions/device.js";
import type { Settings } from "../settings.js";
import type { Disk } from "../whole-file.js";
import { type Binaries, createBinaries } from "./binaries.js";
import { CatalogFile } from "./catalog.js";
import { FirmwareRepository } from "./repository.js";
import { createFirmwareRoutes } from "./routes.js";
import { Selection } from "./selection.js";
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
	/** Milliseconds from any start, on a clock that no one sets. */
	readonly monotonic: () => number;
	/** Sets how a device's update stands and tells every monitor. */
	readonly setOta: (device: Device, metadata: OtaMetadata) => void;
	/** Writes the record of a device. Resolves to whether it is on disk. */
	readonly keepDevice: (device: Device) => Promise<boolean>;
	readonly answerError: AnswerError;
	readonly disk: Disk;
}

export interface FirmwareRoom {
	/** `/ota/firmware.bin` and `/releases/*`. */
	readonly binaries: Binaries;
	/** All other addresses below `/ota`. */
	readonly router: Router;
	readonly updates: Pick<
		Updates,
		"trigger" | "onConnected" | "onUplink" | "historyOf" | "forget" | "obstacle"
	>;
	/** Called before the gateway listens. @throws {NodeJS.ErrnoException} where its folder cannot be used */
	open(): Promise<void>;
	/** Stops timers; nothing is reported any more. */
	close(): Promise<void>;
}

/** A release that is made anew while devices fetch the old one is noticed after so long. */
const recheckMs = 1000;

export type CreateFirmwareRoom = (options: FirmwareRoomOptions) => FirmwareRoom;

export const createFirmwareRoom: CreateFirmwareRoom = (options) => {
	const { settings, access, log, now, monotonic, setOta, keepDevice, answerError, disk } = options;
	const { dataDir, releasesDir, imageCheck: checkImages, maxUploadBytes: maxBytes } = settings;
	const onProblem = (sentence: string) => log.warn({ problem: sentence }, "firmware");
	const uploads = new UploadStore({ directory: join(dataDir, "firmware"), disk, now, onProblem });
	const catalog = new CatalogFile({ directory: releasesDir, disk, onProblem });
	const repository = new FirmwareRepository({ catalog, uploads, disk, checkImages, recheckMs });
	const selection = new Selection({ catalog, uploads, repository });
	const records = new RecordFolder({ directory: join(dataDir, "updates"), disk, onProblem, ...jobsFile });
	const authority = findAuthority(settings.tls?.cert);
	const publicBase = settings.publicUrl && trimmed(settings.publicUrl);
	const updates = new Updates({
		selection,
		records,
		now,
		monotonic,
		upload: () => uploads.current,
		setOta,
		keepDevice,
		certPemFor: (baseUrl) => (baseUrl.startsWith("https:") && baseUrl !== publicBase ? authority : undefined),
	});
	const router = createFirmwareRoutes({
		upload: { store: uploads, maxBytes, checkImages },
		catalog,
		latestUpdates: (count) => updates.latest(count),
		uploadsByAddress: new AddressLimit({ points: 30, seconds: 60, what: "uploads" }),
		access,
		onUploaded: (upload) => log.info({ upload }, "firmware uploaded"),
	});
	return {
		binaries: createBinaries(repository, access, answerError),
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
