/**
 * Crashes on disk, the latest 20 of each device. A device is queried once per connection, and its crash is
 * cleared after it is written, so a crash is neither lost nor counted twice if either side restarts in
 * between.
 */

import {
	type Crash,
	type CrashKind,
	type CrashReport,
	crashKinds,
	crash as crashSchema,
} from "../../device/protocol/messages.js";
import { type Infer, isRecord, object, optional, string } from "../../device/protocol/schema.js";
import { pick, validItems } from "../api/json.js";
import { time } from "../api/time.js";
import type { Listeners } from "../events.js";
import type { Core } from "../extension.js";
import type { LatestCrash } from "../services/devices.js";
import type { Device, Session } from "../sessions/device.js";
import { Queues } from "../storage/queue.js";
import type { Records } from "../storage/records.js";
import type { Metrics } from "../telemetry/metrics.js";
import { signatureOf } from "./crash-signature.js";

const maxKept = 20;
const maxWriters = 8;
const maxCountedVersions = 200;

/** Counter of crashes. Only the first versions get their own label, as a version may be any text. */
export class CrashCounter {
	readonly #crashes;
	readonly #versions = new Set<string>();

	constructor({ counter }: Pick<Metrics, "counter">) {
		const labels = { kind: crashKinds, version: ["other"] };
		this.#crashes = counter("gateway_crashes_total", "Crashes that devices reported", labels);
	}

	/** Starts the series of a device's version, and of the one that is being installed, which may crash before it reports. */
	readonly sessionChanged = ({ device }: Session): void => {
		for (const version of [device?.firmwareVersion, device?.metadata.otaVersion])
			if (version) this.#labelOf(version);
	};

	count(kind: CrashKind, version: string): void {
		this.#crashes.inc({ kind, version: this.#labelOf(version) });
	}

	#labelOf(version: string): string {
		if (this.#versions.has(version)) return version;
		if (this.#versions.size === maxCountedVersions) return "other";
		this.#versions.add(version);
		for (const kind of crashKinds) this.#crashes.inc({ kind, version }, 0);
		return version;
	}
}

/** Part of a crash kept in memory. */
export interface CrashHead extends LatestCrash {
	readonly at: number;
	/** Id of its signature. */
	readonly cause: string;
}
const none: readonly never[] = Object.freeze([]);

const storedCrash = object({
	...crashSchema.fields,
	/** Time at which the gateway received it, in milliseconds since 1970. */
	at: time,
	/** Id of its signature, stored as computing it is slower than reading it. Absent in backups of format 1. */
	cause: optional(string(16)),
});
export type StoredCrash = Infer<typeof storedCrash>;

const crashesFile = Object.freeze({
	name: "crashes",
	what: "crashes",
	format: (crashes: readonly StoredCrash[]) => ({ crashes }),
	parse: (value: unknown): readonly StoredCrash[] | undefined =>
		isRecord(value) && Array.isArray(value.crashes) ? validItems(storedCrash, value.crashes) : undefined,
});

export interface CrashStoreOptions {
	readonly core: Pick<Core, "records" | "sessions" | "now">;
	/** Called after a new crash was written. */
	readonly onStored: (device: Device, crash: Crash) => void;
	/** Called after another process has stored a crash. */
	readonly onRecord: (device: Device) => void;
}

export class CrashStore {
	readonly #options: CrashStoreOptions;
	readonly #records: Records<readonly StoredCrash[]>;
	/** Up to 20 crashes by device id, latest last. */
	readonly #heads = new Map<string, readonly CrashHead[]>();
	/** Sessions with a pending query. An unsolicited report is not stored. */
	readonly #asked = new WeakSet<Session>();
	/** Writes in the order of each device's crashes, as each extends the result of the previous one. */
	readonly #writes = new Queues(maxWriters);

	constructor(options: CrashStoreOptions) {
		this.#options = options;
		this.#records = options.core.records<readonly StoredCrash[]>({
			...crashesFile,
			onRecord: (deviceId, crashes) => this.#onRecord(deviceId, crashes),
		});
	}

	readonly listeners: Listeners = {
		sessionChanged: ({ device }) => {
			// A crash may arrive from another gateway before its device.
			if (device && !device.describeMore && this.#heads.has(device.deviceId)) this.#show(device);
		},
		deviceIdentified: ({ session }) => this.requestCrash(session),
		uplink: (session, uplink) => {
			if (uplink.type === "crash_report") void this.onReport(session, uplink);
		},
		deviceForgotten: (device, why) => {
			if (why !== "removed") void this.forget(device);
		},
	};

	/** @throws {NodeJS.ErrnoException} if its folder cannot be used */
	async open(): Promise<void> {
		await this.#records.each((deviceId, crashes) => this.#set(deviceId, crashes));
		for (const device of this.#options.core.sessions.devices.values()) this.#show(device);
	}

	/** Returns the crashes of a device, latest last. `of` has their details. */
	headsOf({ deviceId }: Pick<Device, "deviceId">): readonly CrashHead[] {
		return this.#heads.get(deviceId) ?? none;
	}

	/** Returns all crashes by device id like `headsOf`, including those of unknown devices. */
	heads(): Iterable<readonly [string, readonly CrashHead[]]> {
		return this.#heads;
	}

	/**
	 * Applies a record written by another process.
	 * @param crashes undefined: they were removed
	 */
	#onRecord(deviceId: string, crashes: readonly StoredCrash[] | undefined): void {
		const device = this.#options.core.sessions.devices.get(deviceId);
		const before = this.#heads.get(deviceId)?.at(-1)?.id;
		this.#set(deviceId, crashes);
		if (device) this.#show(device);
		if (device && crashes && crashes.at(-1)?.id !== before) this.#options.onRecord(device);
	}

	/** Requests the last crash of a device that can report one. */
	requestCrash(session: Session): void {
		if (!session.handshake.features.includes("crash")) return;
		this.#asked.add(session);
		session.send(JSON.stringify({ command: "query_crash" }));
	}

	/** Stores a reported crash, then clears it on the device. If writing fails, the next connection retries. */
	async onReport(session: Session, { crash }: CrashReport): Promise<void> {
		const { device } = session;
		if (!device || !this.#asked.delete(session) || !crash) return;
		if (await this.#writes.add(device.deviceId, () => this.#store(device, crash)))
			session.send(JSON.stringify({ command: "clear_crash", id: crash.id }));
	}

	/** @returns crashes of a device, latest last */
	async of(device: Device): Promise<readonly StoredCrash[]> {
		if (this.headsOf(device).length === 0) return [];
		return (await this.#records.read(device.deviceId)) ?? [];
	}

	/** @returns whether its file is removed */
	async forget(device: Device): Promise<boolean> {
		const isGone = await this.#records.remove(device.deviceId);
		if (isGone) this.#set(device.deviceId, undefined);
		return isGone;
	}

	#set(deviceId: string, crashes: readonly StoredCrash[] | undefined): void {
		const heads = crashes?.map(headOf);
		if (heads) this.#heads.set(deviceId, heads);
		else this.#heads.delete(deviceId);
	}

	/** Sets the crash count of a device, for its current firmware. */
	#show(device: Device): void {
		device.describeMore = this.#heads.has(device.deviceId) ? () => this.#countOf(device) : undefined;
	}

	#countOf(device: Device): { readonly crashCount?: number } {
		const ofThis = this.headsOf(device).filter(({ version }) => version === device.firmwareVersion);
		return ofThis.length > 0 ? { crashCount: ofThis.length } : {};
	}

	/** @returns whether it is written */
	async #store(device: Device, crash: Crash): Promise<boolean> {
		const { core, onStored } = this.#options;
		if (this.headsOf(device).some(({ id }) => id === crash.id)) return true;
		const previous = await this.#records.read(device.deviceId);
		const others = (previous ?? []).filter(({ id }) => id !== crash.id);
		// Newer firmware may send more fields.
		const stored = validItems(storedCrash, [
			pick(storedCrash, { ...crash, at: core.now(), cause: signatureOf(crash).id }),
		]);
		const crashes = [...others, ...stored].slice(-maxKept);
		if (!(await this.#records.save(device.deviceId, crashes))) return false;
		this.#set(device.deviceId, crashes);
		this.#show(device);
		onStored(device, crash);
		return true;
	}
}

function headOf(crash: StoredCrash): CrashHead {
	const { id, kind, firmware_version: version, at, cause = signatureOf(crash).id } = crash;
	return { id, kind, version, at, cause };
}
