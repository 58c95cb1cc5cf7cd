/**
 * Client-side state of the gateway's devices: a summary of each, and all reports of followed devices. A device is
 * identified by its deviceId, or by its session until it has one; after a reconnection it has a new
 * session and keeps its place. Entries are replaced, never changed.
 */

import type { StateReport } from "../../../device/protocol/messages.js";
import type { ChangeReason, FrameOf } from "../frames.js";
import type { DeviceIssue } from "../issues.js";
import { labelFields } from "../label.js";
import type { DeviceSummary, SessionRecord } from "../session.js";
import { otaStatuses } from "../statuses.js";
import { noUpdate, type OtaMetadata } from "../update.js";
import { isUpdating } from "./words.js";

/** Values of the latest report for lists; null before the first one. */
export type Vitals = Pick<DeviceSummary, "rssi" | "ssid" | "volume" | "unmutedVolume" | "safeMode">;

export interface Entry {
	/** The device's id, or its session's. */
	readonly key: string;
	readonly session: SessionRecord;
	/** Chip, such as "esp32s3"; null if unknown. */
	readonly chip: string | null;
	/** Its latest report that came here, which may be old where `isFollowed` is false. */
	readonly state: StateReport | null;
	readonly vitals: Vitals;
	/** Open issues. */
	readonly attention: readonly DeviceIssue[];
	/** Whether each of its reports comes here. */
	readonly isFollowed: boolean;
	/** When the device was last heard, in milliseconds of the gateway's clock; may be old where it is connected and not followed. */
	readonly heardAt: number;
}

/**
 * @param isListed whether what lists are filtered or sorted by has changed, or the entry is gone
 * @param previous undefined: it is new
 * @param entry undefined: it is gone
 */
export type OnEntry = (
	key: string,
	isListed: boolean,
	previous: Entry | undefined,
	entry: Entry | undefined,
) => void;

export class Fleet {
	readonly #entries = new Map<string, Entry>();
	readonly #onEntry: OnEntry;
	/** Keys received since the start of a snapshot; undefined once it is complete. */
	#listed: Set<string> | undefined;
	#listVersion = 0;
	/** The devices whose reports come; undefined: all. */
	#followed: ReadonlySet<string> | undefined;

	constructor(onEntry: OnEntry) {
		this.#onEntry = onEntry;
	}

	get size(): number {
		return this.#entries.size;
	}

	/** Changes with what lists are filtered or sorted by. */
	get listVersion(): number {
		return this.#listVersion;
	}

	all(): readonly Entry[] {
		return [...this.#entries.values()];
	}

	get(key: string): Entry | undefined {
		return this.#entries.get(key);
	}

	/** @returns whether a snapshot is complete with it */
	update({ reason, timestamp, sessions, remaining }: FrameOf<"status_update">): boolean {
		const keys = sessions.map(({ deviceId, sessionId }) => deviceId ?? sessionId);
		const isListed = this.#list(reason, keys, remaining);
		for (const session of sessions) this.#merge(session, reason, heardAt(session.lastSeenAt, timestamp));
		return isListed;
	}

	/** @returns whether a snapshot is complete with it */
	summarize({ reason, timestamp, devices, removed = [], remaining }: FrameOf<"summary">): boolean {
		for (const key of removed) this.#remove(key);
		const keys = devices.map(({ deviceId }) => deviceId);
		const isListed = this.#list(reason, keys, remaining);
		for (const device of devices) this.#takeSummary(device, timestamp);
		return isListed;
	}

	/** From now on only these devices' reports come. */
	follow(keys: ReadonlySet<string>): void {
		this.#followed = keys;
		for (const entry of this.#entries.values())
			if (entry.isFollowed && !keys.has(entry.key)) this.#put({ ...entry, isFollowed: false });
	}

	/** Takes in an uplink. @param now milliseconds of the gateway's clock. @returns the key of the device that it came from */
	receive({ deviceId, sessionId, message }: FrameOf<"device_message">, now: number): string | undefined {
		const entry = this.#entries.get(deviceId ?? sessionId) ?? this.#entries.get(sessionId);
		if (!entry) return undefined;
		const state = message.type === "state_report" ? message : entry.state;
		const vitals = message.type === "state_report" ? vitalsOf(message) : entry.vitals;
		this.#put({ ...entry, state, vitals, isFollowed: this.#isFollowed(entry.key), heardAt: now });
		return entry.key;
	}

	#isFollowed(key: string): boolean {
		return this.#followed?.has(key) ?? true;
	}

	#list(reason: string, keys: readonly string[], remaining: number | undefined): boolean {
		if (reason === "snapshot") this.#listed = new Set();
		for (const key of keys) this.#listed?.add(key);
		const isListed = remaining === 0 || (reason === "snapshot" && remaining === undefined);
		if (isListed) this.#dropUnlisted();
		return isListed;
	}

	#merge(session: SessionRecord, reason: ChangeReason, heardAt: number): void {
		const key = session.deviceId ?? session.sessionId;
		if (session.deviceId !== null) this.#remove(session.sessionId);
		const known = this.#entries.get(key);
		if (reason === "replaced" && known?.session.sessionId !== session.sessionId) return;
		if (session.deviceId === null && !session.connected) return this.#remove(key);
		const metadata = known ? keepNewest(known.session.metadata, session.metadata) : session.metadata;
		const { state } = session;
		this.#put({
			key,
			session: { ...session, metadata },
			chip: known?.chip ?? null,
			state,
			vitals: state ? vitalsOf(state) : (known?.vitals ?? noVitals),
			attention: known?.attention ?? nothing,
			isFollowed: this.#isFollowed(key),
			heardAt: Math.max(heardAt, known?.heardAt ?? 0),
		});
	}

	#takeSummary(device: DeviceSummary, timestamp: string): void {
		const { deviceId: key, chip, attention, ...rest } = device;
		// Before its first report it may have had no name.
		if (rest.sessionId !== undefined) this.#remove(rest.sessionId);
		const known = this.#entries.get(key);
		// Fields missing in summaries come with the session record of a followed device.
		const { sessionId = "", connectedAt = "" } = known?.session ?? {};
		const head = { sessionId, connectedAt, ...rest, metadata: rest.metadata ?? noUpdate };
		const metadata = known ? keepNewest(known.session.metadata, head.metadata) : head.metadata;
		const lastSeenAt = head.lastSeenAt ?? timestamp;
		const isFollowed = known?.isFollowed ?? false;
		this.#put({
			key,
			session: { ...head, deviceId: key, metadata, lastSeenAt, state: null },
			chip,
			state: known?.state ?? null,
			// Each report comes here, and is newer and finer than the summary.
			vitals: isFollowed && known?.state ? known.vitals : device,
			attention: attention ?? nothing,
			isFollowed,
			heardAt: (head.connected && known?.heardAt) || heardAt(lastSeenAt, timestamp),
		});
	}

	#put(entry: Entry): void {
		const previous = this.#entries.get(entry.key);
		this.#entries.set(entry.key, entry);
		this.#notify(entry.key, !previous || listedBy(previous) !== listedBy(entry), previous, entry);
	}

	#remove(key: string): void {
		const previous = this.#entries.get(key);
		if (this.#entries.delete(key)) this.#notify(key, true, previous, undefined);
	}

	#notify(key: string, isListed: boolean, previous: Entry | undefined, entry: Entry | undefined): void {
		if (isListed) this.#listVersion += 1;
		this.#onEntry(key, isListed, previous, entry);
	}

	#dropUnlisted(): void {
		for (const key of [...this.#entries.keys()]) if (this.#listed?.has(key) === false) this.#remove(key);
		this.#listed = undefined;
	}
}

/** Returns a key of all values by which lists are filtered and sorted; lists are reused while it is unchanged. */
function listedBy({ session, vitals, attention }: Entry): string {
	const { model, connected, firmwareVersion, metadata, crashCount, remoteAddress } = session;
	// The resolution of the summary; with every dBm, each report would sort the lists again.
	const signal = vitals.rssi === null ? 0 : Math.round(vitals.rssi / 4);
	const { ssid, volume, unmutedVolume, safeMode } = vitals;
	const issuesText = attention.length === 0 ? "" : JSON.stringify(attention);
	const label = labelFields.map((field) => session[field]).join("\n");
	return `${model} ${connected} ${firmwareVersion} ${metadata.otaStatus} ${crashCount} ${signal} ${volume} ${unmutedVolume} ${safeMode} ${remoteAddress} ${label}\n${ssid}${issuesText}`;
}

const nothing: readonly never[] = [];
const noVitals: Vitals = { rssi: null, ssid: null, volume: null };

function vitalsOf({ health, network, peripherals: { audio } }: StateReport): Vitals {
	return {
		rssi: network.wifi_rssi,
		ssid: network.wifi_ssid,
		volume: audio.volume,
		...(audio.unmuted_volume !== undefined && { unmutedVolume: audio.unmuted_volume }),
		...(health.safe_mode && { safeMode: true }),
	};
}

/** In milliseconds of the gateway's clock. */
function heardAt(lastSeenAt: string, timestamp: string): number {
	return Math.min(Date.parse(lastSeenAt), Date.parse(timestamp));
}

/** One update's progress as it may be shown: it only grows, in whichever order its steps arrive. */
export function keepNewest(shown: OtaMetadata, received: OtaMetadata): OtaMetadata {
	if (!isUpdating(shown) || !isUpdating(received) || received.otaStatus === "pending") return received;
	if (shown.otaVersion !== received.otaVersion) return received;
	const steps = otaStatuses.indexOf(received.otaStatus) - otaStatuses.indexOf(shown.otaStatus);
	if (steps < 0) return shown;
	return { ...received, otaPercent: Math.max(shown.otaPercent ?? 0, received.otaPercent ?? 0) };
}
