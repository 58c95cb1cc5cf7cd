/**
 * The crashes of the devices on disk: the last 20 of each. A device is asked once per connection, and cleared after its crash is
 * written, so a crash is neither lost nor counted twice where either side ends in between.
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
import type { Device, Session } from "../sessions/device.js";
import type { SessionListener } from "../sessions/sessions.js";
import type { Records } from "../storage/records.js";
import type { Metrics } from "../telemetry/metrics.js";
import { signatureOf } from "./crash-signature.js";

const keptAtMost = 20;
const countedVersionsAtMost = 100;
const sharedAtMost = 10_000;

/** @returns a function that counts a crash. A version may be any text: only the first ones have a label of the metric. */
export function crashCounter({ counter }: Pick<Metrics, "counter">): (kind: string, version: string) => void {
	const crashes = counter("gateway_crashes_total", "Crashes that devices reported", "kind", "version");
	const versions = new Set<string>();
	return (kind, version) => {
		if (versions.size < countedVersionsAtMost) versions.add(version);
		crashes.inc({ kind, version: versions.has(version) ? version : "other" });
	};
}

/** What is kept in memory. */
export interface CrashHead {
	readonly id: string;
	readonly kind: CrashKind;
	/** Of the firmware that crashed; empty if unknown. */
	readonly version: string;
	readonly at: number;
	/** The id of its signature. */
	readonly cause: string;
}
const none: readonly never[] = Object.freeze([]);

/** As stored on disk. */
const storedCrash = object({
	...crashSchema.fields,
	/** When the gateway learnt of it: milliseconds since 1970. */
	at: time,
	/** The id of its signature; absent: it is older than signatures. To compute it takes more time than to read it. */
	cause: optional(string(16)),
});
export type StoredCrash = Infer<typeof storedCrash>;

export const crashesFile = Object.freeze({
	what: "crashes",
	format: (crashes: readonly StoredCrash[]): string => `${JSON.stringify({ crashes }, undefined, "\t")}\n`,
	parse: (content: string): readonly StoredCrash[] | undefined => {
		const value: unknown = JSON.parse(content);
		if (!isRecord(value) || !Array.isArray(value.crashes)) return undefined;
		return validItems(storedCrash, value.crashes);
	},
});

export interface CrashStoreOptions {
	readonly records: Records<readonly StoredCrash[]>;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** A crash that was not known is on disk. */
	readonly onStored: (device: Device, crash: Crash) => void;
	/** Another process has stored one. */
	readonly onTaken: (device: Device) => void;
}

export class CrashStore {
	readonly #options: CrashStoreOptions;
	/** By device id: at most 20 of each, the latest last. */
	readonly #heads = new Map<string, readonly CrashHead[]>();
	/** Texts that many heads have, once each: they would take more memory than the rest. */
	readonly #shared = new Map<string, string>();
	/** Asked, and not answered yet: a device cannot have more written than it was asked for. */
	readonly #asked = new WeakSet<Session>();
	/** The latest write of each device: the next one waits for it, since it adds to what that has written. */
	readonly #writes = new WeakMap<Device, Promise<boolean>>();

	constructor(options: CrashStoreOptions) {
		this.#options = options;
	}

	readonly sessions: SessionListener = {
		onChanged: ({ device }) => {
			// Of one that another gateway has, the crash may be known before the device.
			if (device && !device.describeMore && this.#heads.has(device.deviceId)) this.#show(device);
		},
		onNamed: ({ session }) => this.ask(session),
		onUplink: (session, uplink) => {
			if (uplink.type === "crash_report") void this.onReport(session, uplink);
		},
		onForgotten: (device, why) => {
			if (why !== "removed") void this.forget(device);
		},
	};

	get readinessProblem(): string | undefined {
		return this.#options.records.readinessProblem;
	}

	/** @throws {NodeJS.ErrnoException} if its folder cannot be used */
	async open(devices: ReadonlyMap<string, Device>): Promise<void> {
		await this.#options.records.each((deviceId, crashes) => this.#set(deviceId, crashes));
		for (const device of devices.values()) this.#show(device);
	}

	/** The latest last; `of` has the rest of each. */
	headsOf({ deviceId }: Pick<Device, "deviceId">): readonly CrashHead[] {
		return this.#heads.get(deviceId) ?? none;
	}

	/** By device id, as `headsOf`; also of devices that are not known yet. */
	heads(): Iterable<readonly [string, readonly CrashHead[]]> {
		return this.#heads;
	}

	/**
	 * Takes in what another process has written.
	 * @param crashes undefined: they were removed @param device if it is known
	 */
	take(deviceId: string, crashes: readonly StoredCrash[] | undefined, device: Device | undefined): void {
		const before = this.#heads.get(deviceId)?.at(-1)?.id;
		this.#set(deviceId, crashes);
		if (device) this.#show(device);
		if (device && crashes && crashes.at(-1)?.id !== before) this.#options.onTaken(device);
	}

	/** Asks a device for its last crash, if it can report one. */
	ask(session: Session): void {
		if (!session.handshake.features.includes("crash")) return;
		this.#asked.add(session);
		session.send(JSON.stringify({ command: "query_crash" }));
	}

	/** Stores what a device answered, then clears it there. If it cannot be written, the next connection asks again. */
	async onReport(session: Session, { crash }: CrashReport): Promise<void> {
		const { device } = session;
		if (!device || !this.#asked.delete(session) || !crash) return;
		const previous = this.#writes.get(device) ?? Promise.resolve();
		const write = previous.then(() => this.#store(device, crash));
		this.#writes.set(device, write);
		if (await write) session.send(JSON.stringify({ command: "clear_crash", id: crash.id }));
	}

	/** @returns the crashes of a device, the latest last */
	async of(device: Device): Promise<readonly StoredCrash[]> {
		if (this.headsOf(device).length === 0) return [];
		return (await this.#options.records.read(device.deviceId)) ?? [];
	}

	/** @returns whether its file is gone */
	async forget(device: Device): Promise<boolean> {
		const isGone = await this.#options.records.remove(device.deviceId);
		if (isGone) this.#set(device.deviceId, undefined);
		return isGone;
	}

	close(): Promise<void> {
		return this.#options.records.close();
	}

	#set(deviceId: string, crashes: readonly StoredCrash[] | undefined): void {
		if (crashes)
			this.#heads.set(
				deviceId,
				crashes.map((crash) => this.#headOf(crash)),
			);
		else this.#heads.delete(deviceId);
	}

	#headOf(crash: StoredCrash): CrashHead {
		const { id, firmware_version: version, at, cause = signatureOf(crash).id } = crash;
		const kind = crashKinds[crashKinds.indexOf(crash.kind)] ?? crash.kind;
		return { id, kind, version: this.#share(version), at, cause: this.#share(cause) };
	}

	#share(text: string): string {
		const known = this.#shared.get(text);
		if (known !== undefined) return known;
		// A version may be any text.
		if (this.#shared.size >= sharedAtMost) this.#shared.clear();
		this.#shared.set(text, text);
		return text;
	}

	/** In its record: those of the firmware that runs. */
	#show(device: Device): void {
		device.describeMore = this.#heads.has(device.deviceId) ? () => this.#countOf(device) : undefined;
	}

	#countOf(device: Device): { readonly crashCount?: number } {
		const ofThis = this.headsOf(device).filter(({ version }) => version === device.firmwareVersion);
		return ofThis.length > 0 ? { crashCount: ofThis.length } : {};
	}

	/** @returns whether it is on disk */
	async #store(device: Device, crash: Crash): Promise<boolean> {
		const { records, now, onStored } = this.#options;
		if (this.headsOf(device).some(({ id }) => id === crash.id)) return true;
		const previous = await records.read(device.deviceId);
		const others = (previous ?? []).filter(({ id }) => id !== crash.id);
		// A newer firmware may send more fields.
		const stored = validItems(storedCrash, [
			pick(storedCrash, { ...crash, at: now(), cause: signatureOf(crash).id }),
		]);
		const crashes = [...others, ...stored].slice(-keptAtMost);
		if (!(await records.save(device.deviceId, crashes))) return false;
		this.#set(device.deviceId, crashes);
		this.#show(device);
		onStored(device, crash);
		return true;
	}
}
