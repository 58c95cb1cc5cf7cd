/**
 * What is known of every device, as told by the gateway. A device goes by its deviceId, or, while it has none, by its
 * session; one that comes back has a new session but keeps its place. Entries are replaced, never changed.
 */

import type { StateReport } from "../../../../device/protocol/messages.js";
import type { DeviceMessage, OtaMetadata, SessionRecord, StatusUpdate } from "./messages.js";
import { isUpdating, signalBars } from "./words.js";

export interface Entry {
	/** The device's id, or its session's. */
	readonly key: string;
	readonly session: SessionRecord;
	readonly state: StateReport | null;
	/** When the device was last heard, in milliseconds of this page's clock. */
	readonly heardAt: number;
	/** When its ring was first seen in its state. */
	readonly ringSince: number;
}

/** @param isListed whether what lists are filtered or sorted by has changed, or the entry is gone */
export type OnEntry = (key: string, isListed: boolean) => void;

export class Fleet {
	readonly #entries = new Map<string, Entry>();
	readonly #onEntry: OnEntry;
	/** What was named since a snapshot began; undefined once it is complete. */
	#listed: Set<string> | undefined;

	constructor(onEntry: OnEntry) {
		this.#onEntry = onEntry;
	}

	get size(): number {
		return this.#entries.size;
	}

	all(): readonly Entry[] {
		return [...this.#entries.values()];
	}

	get(key: string): Entry | undefined {
		return this.#entries.get(key);
	}

	/**
	 * @param now milliseconds of this page's clock; ages are told by the gateway's clock alone, which may differ
	 * @returns whether a snapshot is complete with it
	 */
	update({ reason, timestamp, sessions, remaining }: StatusUpdate, now: number): boolean {
		if (reason === "snapshot") this.#listed = new Set();
		for (const { deviceId, sessionId } of sessions) this.#listed?.add(deviceId ?? sessionId);
		const isListed = remaining === 0 || (reason === "snapshot" && remaining === undefined);
		if (isListed) this.#dropUnlisted();
		for (const session of sessions) {
			const silentMs = Math.max(0, Date.parse(timestamp) - Date.parse(session.lastSeenAt));
			this.#take(session, reason, now - silentMs, now);
		}
		return isListed;
	}

	/** Takes in an uplink. @returns the key of the device that it came from */
	receive({ deviceId, sessionId, message }: DeviceMessage, now: number): string | undefined {
		const entry = this.#entries.get(deviceId ?? sessionId) ?? this.#entries.get(sessionId);
		if (!entry) return undefined;
		const state = message.type === "state_report" ? message : entry.state;
		this.#put({ ...entry, state, heardAt: now, ringSince: ringSince(entry, state, now) });
		return entry.key;
	}

	#take(session: SessionRecord, reason: StatusUpdate["reason"], heardAt: number, now: number): void {
		const key = session.deviceId ?? session.sessionId;
		if (session.deviceId !== null) this.#remove(session.sessionId);
		const known = this.#entries.get(key);
		if (reason === "replaced" && known?.session.sessionId !== session.sessionId) return;
		if (session.deviceId === null && !session.connected) return this.#remove(key);
		const metadata = known ? neverBackward(known.session.metadata, session.metadata) : session.metadata;
		const { state } = session;
		this.#put({
			key,
			session: { ...session, metadata },
			state,
			heardAt: Math.max(heardAt, known?.heardAt ?? 0),
			ringSince: ringSince(known, state, now),
		});
	}

	#put(entry: Entry): void {
		const former = this.#entries.get(entry.key);
		this.#entries.set(entry.key, entry);
		this.#onEntry(entry.key, !former || listedBy(former) !== listedBy(entry));
	}

	#remove(key: string): void {
		if (this.#entries.delete(key)) this.#onEntry(key, true);
	}

	#dropUnlisted(): void {
		for (const key of [...this.#entries.keys()]) if (this.#listed?.has(key) === false) this.#remove(key);
		this.#listed = undefined;
	}
}

/** What lists are filtered and sorted by; while it is unchanged, lists are reused. */
function listedBy({ session, state }: Entry): string {
	const bars = state ? signalBars(state.network.wifi_rssi) : 0;
	const { model, connected, firmwareVersion, metadata, crashCount } = session;
	return `${model} ${connected} ${firmwareVersion} ${metadata.otaStatus} ${crashCount} ${bars}`;
}

function ringSince(known: Entry | undefined, state: StateReport | null, now: number): number {
	const isSame = known?.state?.peripherals.led_ring.state_id === state?.peripherals.led_ring.state_id;
	return known && isSame ? known.ringSince : now;
}

const order = ["pending", "downloading", "rebooting"];

/** One update's progress as it may be shown: it only ever grows, in whichever order its steps are told. */
export function neverBackward(shown: OtaMetadata, told: OtaMetadata): OtaMetadata {
	if (!isUpdating(shown) || !isUpdating(told) || told.otaStatus === "pending") return told;
	if (shown.otaVersion !== told.otaVersion) return told;
	const steps = order.indexOf(told.otaStatus) - order.indexOf(shown.otaStatus);
	if (steps < 0) return shown;
	return { ...told, otaPercent: Math.max(shown.otaPercent ?? 0, told.otaPercent ?? 0) };
}
