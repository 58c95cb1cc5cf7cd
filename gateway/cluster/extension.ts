/**
 * Joins this gateway to a cluster over a bus: provides shared storage for the core and the extension. Loaded
 * only with NATS_URL.
 */

import { randomUUID } from "node:crypto";
import fs from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { type Bucket, type Bus, subjectOf } from "../bus.js";
import type { CreateExtension, LoadedExtensions } from "../extension.js";
import type { Peers } from "../peers.js";
import { readSettings } from "../settings.js";
import { strictDisk } from "../storage/atomic-file.js";
import { Blobs, type CreateBlobs } from "../storage/blobs.js";
import type { OpenLog } from "../storage/log.js";
import { type CreateRecords, Records } from "../storage/records.js";
import { BucketRecords } from "./bucket-records.js";
import { Cluster } from "./cluster.js";
import { migrateLog, migrateRecords } from "./migration.js";
import { gatewayOf } from "./mirror-link.js";
import { NatsBus } from "./nats/bus.js";
import { nats } from "./settings.js";
import { SharedTokens } from "./shared-tokens.js";

const maxDevices = 100_000;
/** Timeout for a response of another gateway. */
const answerMs = 2_000;

/**
 * Connects to NATS. Existing data in DATA_DIR is migrated once.
 * @throws {StartError} if the server is unsuitable
 */
export async function joinOverNats(
	joined: LoadedExtensions,
	log: Pick<Logger, "warn">,
): Promise<LoadedExtensions> {
	const { environment = {} } = joined;
	const settings = nats.read(environment);
	if (!settings) throw new TypeError("NATS_URL is not set.");
	const bus = new NatsBus({ ...settings, onProblem: (problem) => log.warn({ problem }, "bus") });
	await bus.open();
	return { ...joined, ...joinGateways(bus, readSettings(environment).dataDir, joined.extensions) };
}

/** @param bus closed together with the gateway */
export function joinGateways(
	bus: Bus,
	dataDir: string,
	extensions: readonly CreateExtension[],
): LoadedExtensions {
	const disk = strictDisk(fs);
	const records: CreateRecords = (options) => {
		const { name, isKey, onProblem } = options;
		const migrate = async (bucket: Bucket) =>
			migrateRecords({ dataDir, disk, isKey, onProblem, files: () => bus.files(`gw-${name}`) }, name, bucket);
		return new Records({
			...options,
			engine: new BucketRecords({ bus, bucket: `gw-record-${name}`, migrate, onProblem }),
		});
	};
	const blobs: CreateBlobs = ({ name, ...kind }) =>
		new Blobs({ ...kind, directory: join(dataDir, name), disk, files: () => bus.files(`gw-${name}`) });
	const id = randomUUID();
	let tokens: SharedTokens | undefined;
	/** Set when the core is created. */
	let cluster: Cluster | undefined;
	const peers: Peers = {
		id,
		bus,
		defineQuery: (name, answer) => {
			bus.serve(subjectOf("gw", name, id), async (text) => answer(text));
			const askAt = (gateway: string | undefined, text: string) =>
				gateway === undefined
					? answer(text)
					: bus.request(subjectOf("gw", name, gateway), text, answerMs).catch(() => "");
			return {
				send: async (device, text) => askAt(gatewayOf(device.session), text),
				sendToAll: (text) =>
					Promise.all([undefined, ...(cluster?.others ?? [])].map((gateway) => askAt(gateway, text))),
			};
		},
		fetchReports: async (ids) => cluster?.gather(ids),
		onInterestChanged: () => cluster?.onInterest(),
		openTokens: async (own, onProblem) => {
			tokens = new SharedTokens({ bus, tokens: own, onProblem });
			await tokens.open();
		},
		close: async () => {
			tokens?.close();
			await bus.close();
		},
	};
	const create: CreateExtension = (core) => {
		cluster = new Cluster(core, bus);
		return cluster;
	};
	const storage = { place: "NATS", status: 503 } as const;
	const openLog: OpenLog = async (name, onProblem) => {
		const log = await bus.log(`gw-${name}`);
		await migrateLog({ dataDir, disk, onProblem }, name, log);
		return log;
	};
	return { extensions: [...extensions, create], records, blobs, openLog, storage, peers, maxDevices };
}
