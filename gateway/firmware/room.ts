/**
 * The firmware room as the gateway sees it: makes its parts and wires them. No other file knows how they hang together.
 */

import { X509Certificate } from "node:crypto";
import disk from "node:fs/promises";
import { join } from "node:path";
import { AddressLimit } from "../access/address-limit.js";
import type { CreateFirmwareRoom } from "../firmware-room.js";
import { RecordFolder } from "../record-folder.js";
import { createBinaries } from "./binaries.js";
import { CatalogFile } from "./catalog.js";
import { createAnswerError } from "./http-problem.js";
import { ImageFiles } from "./image-files.js";
import { Library } from "./library.js";
import { createFirmwareRoutes } from "./routes.js";
import { jobsFile } from "./update-job.js";
import { Updates } from "./updates.js";
import { UploadStore } from "./upload-store.js";

/** A release that is made anew while devices fetch the old one is noticed after so long. */
const recheckMs = 1000;

export const createFirmwareRoom: CreateFirmwareRoom = ({ settings, access, log, now, setOta }) => {
	const { dataDir, releasesDir, imageCheck: checkImages, maxUploadBytes: maxBytes } = settings;
	const onProblem = (sentence: string) => log.warn({ problem: sentence }, "firmware");
	const uploads = new UploadStore({ directory: join(dataDir, "firmware"), disk, now, onProblem });
	const catalog = new CatalogFile({ directory: releasesDir, disk, onProblem });
	const files = new ImageFiles({ disk });
	const library = new Library({ catalog, uploads, files, checkImages, recheckMs });
	const records = new RecordFolder({ directory: join(dataDir, "updates"), disk, onProblem, ...jobsFile });
	const certPem = settings.publicUrl ? undefined : findAuthority(settings.tls?.cert);
	const updates = new Updates({ library, records, now, setOta, certPem });
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
		binaries: createBinaries({ library, access, answerError }),
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
 * know the public ones by themselves.
 */
function findAuthority(chain: Buffer | undefined): string | undefined {
	const pem = chain
		?.toString()
		.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)
		?.at(-1);
	if (pem === undefined) return undefined;
	const certificate = new X509Certificate(pem);
	return certificate.checkIssued(certificate) ? `${pem}\n` : undefined;
}
