/**
 * Directory of devices and their gateways: a bucket with an entry per device, written by the gateway of its
 * latest connection. A connection overwrites any entry; later changes are written only while the entry is
 * still this gateway's own. If two gateways have the same device connected, the one that wrote first thereby
 * learns of the other.
 */

import type { Bucket, Bus } from "../bus.js";
import { BusError } from "../bus.js";
import type { Listeners } from "../events.js";
import { retryUntilConnected } from "../retry-until-connected.js";
import type { Device, Session } from "../sessions/device.js";
import { type EndReason, isEndReason } from "../sessions/view.js";
import type { Entry, Unsubscribe } from "../storage/log.js";
import { Queues } from "../storage/queue.js";
import { type DirectoryEntry, describeSession, entry as entrySchema, read } from "./messages.js";
import type { Relay } from "./relay.js";

export interface DirectoryOptions {
	readonly bus: Bus;
	/** Id of this gateway. */
	readonly id: string;
	readonly relay: Relay;
	/** Called with an entry of another gateway. */
	readonly onEntry: (entry: DirectoryEntry) => void;
	/** Called for each write. */
	readonly onWrite: () => void;
	/** Called with an entry that cannot be parsed. */
	readonly onError: (error: unknown) => void;
	readonly onProblem: (sentence: string) => void;
}

/** Latest session of a device that this gateway has. */
interface LocalSession {
	readonly session: Session;
	end: EndReason | undefined;
	/** Whether its connection is written, so another gateway's entry belongs to a later one. */
	isWritten: boolean;
	/** Number of pending writes. */
	writing: number;
	/** Values of the latest write. */
	vitals: Device["vitals"];
	hasReported: boolean;
}

const bucketName = "gw-directory";
const maxWriters = 16;
/** Limit of uplinks waiting for an entry. */
const maxHeld = 10_000;

export class Directory {
	readonly #options: DirectoryOptions;
	#bucket: Bucket | undefined;
	/** Revisions by device id, including entries of other gateways. */
	readonly #revisions = new Map<string, number>();
	#latest = 0;
	readonly #own = new Map<string, LocalSession>();
	/** Queues with one writer per key, which preserves order. */
	readonly #writers = new Queues(maxWriters);
	readonly #failed = new Set<string>();
	readonly #held: { readonly revision: number; readonly run: () => void }[] = [];
	#stopWatching: Unsubscribe = () => {};
	#isClosed = false;

	constructor(options: DirectoryOptions) {
		this.#options = options;
	}

	/** Resolves after all entries were read. */
	async open(): Promise<void> {
		await retryUntilConnected(
			{ isClosed: () => this.#isClosed, onProblem: this.#options.onProblem },
			async () => {
				const bucket = await this.#options.bus.bucket(bucketName);
				this.#bucket = bucket;
				this.#stopWatching = await bucket.watch((key, entry) => {
					this.#onEntry(key, entry);
					this.#latest = Math.max(this.#latest, entry?.revision ?? 0);
					this.#release();
				});
			},
		);
	}

	close(): void {
		this.#isClosed = true;
		this.#stopWatching();
	}

	readonly listeners: Listeners = {
		ownSessionChanged: (session, reason) => {
			const { device } = session;
			// Labels and crashes are records that each gateway reads itself.
			if (reason === "labelled" || reason === "crash") return;
			// A session without a device stays local, and another session of the device was written instead.
			if (device?.session !== session) return;
			this.#write(session, isEndReason(reason) ? reason : undefined);
		},
		deviceForgotten: ({ deviceId }, why) => {
			if (why !== "removed") this.#remove(deviceId);
			else this.#own.delete(deviceId);
		},
	};

	/**
	 * Writes the values in lists that a report changed.
	 * @param isSummaryNeeded whether another gateway displays them
	 */
	onReport({ session, vitals, hasReported, deviceId }: Device, isSummaryNeeded: boolean): void {
		const own = this.#own.get(deviceId);
		if (own?.hasReported !== hasReported || (isSummaryNeeded && own.vitals !== vitals)) this.#write(session);
	}

	/** Runs `onReport` for all local devices. */
	writeVitals(): void {
		for (const { session, end, vitals } of this.#own.values())
			if (session.device?.vitals !== vitals) this.#write(session, end);
	}

	/** Relays an uplink, after preceding changes. */
	relay(session: Session, text: string, isStateReport: boolean): void {
		const { deviceId = "" } = session.device ?? {};
		const add = () =>
			this.#options.relay.add(session, this.#revisions.get(deviceId) ?? 0, text, isStateReport);
		if (this.#own.get(deviceId)?.writing) this.#inOrder(deviceId, async () => add());
		else add();
	}

	/** Runs a callback once the entry with this revision was read. */
	after(revision: number, run: () => void): void {
		if (this.#held.length === 0 && revision <= this.#latest) return run();
		this.#held.push({ revision, run });
		if (this.#held.length > maxHeld) this.#held.shift();
	}

	#release(): void {
		for (let next = this.#held[0]; next && next.revision <= this.#latest; next = this.#held[0]) {
			this.#held.shift();
			next.run();
		}
	}

	#write(session: Session, end?: EndReason): void {
		const { device } = session;
		if (!device) return;
		const { deviceId, vitals, hasReported } = device;
		const known = this.#own.get(deviceId);
		const written = { end, vitals, hasReported };
		const own: LocalSession =
			known?.session === session
				? Object.assign(known, written)
				: { session, isWritten: false, writing: 0, ...written };
		this.#own.set(deviceId, own);
		own.writing += 1;
		const text = describeSession(this.#options.id, session, end);
		this.#inOrder(deviceId, async () => {
			this.#options.relay.flush();
			await this.#attempt(deviceId, (bucket) => this.#put(bucket, deviceId, own, text));
			own.writing -= 1;
		});
	}

	#remove(deviceId: string): void {
		this.#own.delete(deviceId);
		const remove = async (bucket: Bucket) => {
			if (this.#own.has(deviceId)) return;
			const isGone = await bucket.remove(deviceId, this.#revisions.get(deviceId) ?? 0);
			if (!isGone) this.#onEntry(deviceId, await bucket.get(deviceId));
		};
		this.#inOrder(deviceId, () => this.#attempt(deviceId, remove));
	}

	#inOrder(key: string, work: () => Promise<void>): void {
		void this.#writers.add(key, () => (this.#isClosed ? undefined : work().catch(this.#options.onError)));
	}

	/** Runs a write, which `writeFailed` repeats if it fails. */
	async #attempt(deviceId: string, write: (bucket: Bucket) => Promise<void>): Promise<void> {
		try {
			if (!this.#bucket) throw new BusError("disconnected", "The directory is not open.");
			await write(this.#bucket);
			this.#failed.delete(deviceId);
		} catch (error) {
			if (!(error instanceof BusError)) throw error;
			this.#failed.add(deviceId);
		}
	}

	async #put(bucket: Bucket, deviceId: string, own: LocalSession, text: string): Promise<void> {
		while (this.#own.has(deviceId) && !this.#isClosed) {
			this.#options.onWrite();
			const known = this.#revisions.get(deviceId) ?? 0;
			const revision = await bucket.set(deviceId, text, known);
			if (revision !== undefined) {
				own.isWritten = true;
				if (revision > (this.#revisions.get(deviceId) ?? 0)) this.#revisions.set(deviceId, revision);
				return;
			}
			const entry = await bucket.get(deviceId);
			// Servers may have lost acknowledged writes.
			if ((entry?.revision ?? 0) < known) this.#revisions.set(deviceId, entry?.revision ?? 0);
			else this.#onEntry(deviceId, entry);
		}
	}

	/** Repeats failed writes. Must be called periodically. */
	writeFailed(): void {
		const failed = [...this.#failed];
		this.#failed.clear();
		for (const deviceId of failed) {
			const own = this.#own.get(deviceId);
			if (own) this.#write(own.session, own.end);
			else this.#remove(deviceId);
		}
	}

	#onEntry(deviceId: string, entry: Entry | undefined): void {
		const own = this.#own.get(deviceId);
		if (!entry) {
			this.#revisions.delete(deviceId);
			if (own?.session.connected) this.#write(own.session);
			return;
		}
		if (entry.revision <= (this.#revisions.get(deviceId) ?? 0)) return;
		this.#revisions.set(deviceId, entry.revision);
		const other = this.#parse(entry.text);
		if (!other) return;
		if (other.gateway === this.#options.id) {
			// The write succeeded although it reported a failure, and the device was removed since.
			if (!own) this.#remove(deviceId);
			return;
		}
		// This connection will be written after that entry.
		if (own && !own.isWritten && own.session.connected) return;
		this.#own.delete(deviceId);
		this.#failed.delete(deviceId);
		this.#options.onEntry(other);
	}

	#parse(text: string): DirectoryEntry | undefined {
		try {
			return read(entrySchema, text);
		} catch (error) {
			this.#options.onError(error);
			return undefined;
		}
	}
}
