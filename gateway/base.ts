/** Dependencies shared by all parts of the gateway: settings, clocks, log, metrics and storage. */

import fs from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { Registry } from "prom-client";
import { createYield } from "./event-loop.js";
import { ServerCertificate } from "./http/certificate.js";
import { type SocketLimits, socketLimits } from "./limits.js";
import { type Peers, standalone } from "./peers.js";
import { createSendError, type SendError } from "./problem.js";
import type { Environment } from "./setting.js";
import { defaultSettings, type Settings } from "./settings.js";
import { type Disk, strictDisk } from "./storage/atomic-file.js";
import { Blobs, type CreateBlobs } from "./storage/blobs.js";
import { findDiskProblem } from "./storage/data-folder.js";
import { FileLog } from "./storage/file-log.js";
import { fileRecords } from "./storage/file-records.js";
import type { OpenLog } from "./storage/log.js";
import type { CreateRecords, OpenRecords, Records, Storage } from "./storage/records.js";
import { createLog } from "./telemetry/log.js";
import { createMetrics, type Metrics } from "./telemetry/metrics.js";

export interface Base {
	readonly settings: Settings;
	/** Variables from which extensions read their settings. */
	readonly environment: Environment;
	readonly limits: SocketLimits;
	readonly log: Logger;
	readonly metrics: Metrics;
	/** Undefined: HTTP without TLS. */
	readonly certificate: ServerCertificate | undefined;
	readonly disk: Disk;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Monotonic, in milliseconds. */
	readonly monotonic: () => number;
	/** Resolves in a later turn of the event loop. Await it before work that many clients may trigger at once. */
	readonly yieldToLoop: () => Promise<void>;
	/** Opens a store with one record per device. */
	readonly records: OpenRecords;
	/** Writes pending records and closes all stores. */
	readonly closeRecords: () => Promise<void>;
	/** Returns why records or the data folder cannot be written, as a sentence. */
	readonly findStorageProblem: () => Promise<string | undefined>;
	/** Opens a store of files. */
	readonly blobs: CreateBlobs;
	readonly openLog: OpenLog;
	readonly storage: Storage;
	/** Responds to a failed request, and logs internal errors. */
	readonly sendError: SendError;
	readonly peers: Peers;
}

/** Overrides of the defaults: this machine's clocks, a log to standard error, and files in the data folder. */
export interface BaseOptions
	extends Partial<Settings>,
		Partial<Omit<Base, "settings" | "limits" | "records">> {
	/** Limits of the core and of extensions, by name. */
	readonly limits?: Readonly<Record<string, number>>;
	readonly registry?: Registry;
	readonly records?: CreateRecords;
}

export function createBase(options: BaseOptions): Base {
	const settings: Settings = { ...defaultSettings, ...options };
	const disk = strictDisk(options.disk ?? fs);
	const log = options.log ?? createLog(settings.logLevel);
	const metrics = createMetrics(options.registry ?? new Registry());
	const now = options.now ?? Date.now;
	const limits = { ...socketLimits, ...options.limits };
	const { certificateCheckMs: checkMs } = limits;
	const create: CreateRecords =
		options.records ?? (({ name, ...kind }) => fileRecords({ ...kind, ...folder(name) }));
	const opened: Pick<Records<unknown>, "readinessProblem" | "close">[] = [];
	const folder = (name: string) => ({ directory: join(settings.dataDir, name), disk });
	return {
		settings,
		environment: options.environment ?? {},
		limits,
		log,
		metrics,
		certificate:
			settings.tls && new ServerCertificate({ files: settings.tls, disk, log, metrics, now, checkMs }),
		disk,
		now,
		monotonic: options.monotonic ?? (() => performance.now()),
		yieldToLoop: createYield(),
		records: (kind) => {
			const onProblem = (problem: string) => log.warn({ problem }, kind.name);
			const records = create({ ...kind, onProblem });
			opened.push(records);
			return records;
		},
		closeRecords: async () => void (await Promise.all(opened.map((records) => records.close()))),
		findStorageProblem: async () =>
			opened.map(({ readinessProblem }) => readinessProblem).find(Boolean) ??
			findDiskProblem(disk, settings.dataDir),
		blobs: options.blobs ?? (({ name, ...kind }) => new Blobs({ ...kind, ...folder(name) })),
		openLog: options.openLog ?? (async (name, onProblem) => new FileLog({ ...folder(name), onProblem })),
		storage: options.storage ?? { place: "the gateway's disk", status: 507 },
		sendError: createSendError((error) => log.error({ err: error }, "request failed")),
		peers: options.peers ?? standalone,
	};
}
