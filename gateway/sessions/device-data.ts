/** What is kept of each device on disk, its record and its crashes, and what other gateways tell of both. */

import { join } from "node:path";
import type { Logger } from "pino";
import type { Joined } from "../cluster/join.js";
import type { Disk } from "../storage/atomic-file.js";
import { type RecordStore, recordStore } from "../storage/json-file-store.js";
import { CrashStore, type CrashStoreOptions, crashesFile, type StoredCrash } from "./crash-store.js";
import type { Device } from "./device.js";
import { DeviceStore, deviceFile } from "./device-store.js";
import type { Sessions } from "./sessions.js";

export interface DeviceDataOptions {
	readonly dataDir: string;
	readonly disk: Disk;
	/** With other gateways; undefined: this one is alone. */
	readonly joined: Joined | undefined;
	readonly sessions: () => Sessions;
	/** Another gateway has told of a device that is not connected. */
	readonly onAdopted: (device: Device) => void;
	readonly onCrash: CrashStoreOptions["onStored"];
	readonly log: Pick<Logger, "warn">;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
}

export function createDeviceData(options: DeviceDataOptions) {
	const { dataDir, disk, joined, sessions, onAdopted, onCrash, log, now, monotonic } = options;
	const records = recordStore(joined, {
		directory: join(dataDir, "devices"),
		disk,
		onProblem: (problem) => log.warn({ problem }, "known devices"),
		...deviceFile,
		bucket: "gw-devices",
		onRecord: (deviceId, device) => {
			const known = sessions().devices.get(deviceId);
			if (device && sessions().adopt(device)) {
				void crashes.restore(device);
				onAdopted(device);
			} else if (!device && known && !sessions().forget(known, "told")) void store.keep(known);
		},
		now,
	});
	const store = new DeviceStore(records, monotonic);
	const crashRecords: RecordStore<readonly StoredCrash[]> = recordStore(joined, {
		directory: join(dataDir, "crashes"),
		disk,
		onProblem: (problem) => log.warn({ problem }, "crashes"),
		...crashesFile,
		bucket: "gw-crashes",
		onRecord: async (deviceId) => {
			// The device may be told of meanwhile.
			await crashRecords.settle();
			const device = sessions().devices.get(deviceId);
			if (device) await crashes.restore(device);
		},
		now,
	});
	const crashes = new CrashStore({ records: crashRecords, now, onStored: onCrash });
	return {
		store,
		crashes,
		/** Whether the records of the others were read; true also if there are none. */
		get isComplete(): boolean {
			return records.hasCaughtUp ?? true;
		},
		get readinessProblem(): string | undefined {
			return records.readinessProblem ?? crashRecords.readinessProblem;
		},
		/** Loads the devices into the sessions. @throws {NodeJS.ErrnoException} */
		open: async () => {
			sessions().restore(await store.open());
			await crashes.open(sessions().devices);
		},
		/** Begins to exchange records with other gateways. */
		start: () => {
			records.start?.();
			crashRecords.start?.();
		},
		close: async () => {
			await store.close();
			await crashes.close();
		},
	};
}
