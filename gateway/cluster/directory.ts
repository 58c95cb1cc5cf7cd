/**
 * Which gateway has which device: a bucket with an entry for each device, which the gateway of its latest connection writes.
 * A connection is written whatever is there, and its changes only while the entry is still the one of this gateway: so of two
 * gateways that have a device as connected, the one that wrote first learns that the other one has it.
 */

import type { Bucket, Bus, Entry, Unsubscribe } from "../bus.js";
import { BusError } from "../bus.js";
import type { Device, Session } from "../sessions/device.js";
import type { SessionListener, Sessions } from "../sessions/sessions.js";
import { type EndReason, isEndReason } from "../sessions/view.js";
import { type DirectoryEntry, describeSession, readEntry } from "./messages.js";
import type { Relay } from "./relay.js";
import { whenReached } from "./when-reached.js";

export interface DirectoryOptions {
	readonly bus: Bus;
	/** Id of this gateway. */
	readonly id: string;
	readonly sessions: Pick<Sessions, "end">;
	readonly relay: Relay;
	/** Called with the session of another gateway, undefined if its entry was removed. */
	readonly onEntry: (key: string, entry: DirectoryEntry | undefined) => void;
	/** Called for each write. */
	readonly onWrite: () => void;
	/** An entry could not be read. */
	readonly onError: (error: unknown) => void;
}

/** The latest session of a device, or of one without a name, where this gateway has it. */
interface Own {
	readonly session: Session;
	/** It was written: an entry of another gateway is that of a later connection. */
	isWritten: boolean;
	/** Another gateway has the device. */
	isLost: boolean;
	/** Number of writes that have not ended. */
	writing: number;
	end: EndReason | undefined;
	/** As written last. */
	vitals: Device["vitals"] | undefined;
	hasReported: boolean;
}

const bucketName = "gw-directory";
const writersAtMost = 16;
const retryMs = 1_000;
/** Uplinks that wait for an entry. */
const heldAtMost = 10_000;
const replaced = { code: 4001, reason: "replaced" } as const;

export class Directory {
	readonly #options: DirectoryOptions;
	#bucket: Bucket | undefined;
	/** By key, also of other gateways' entries. */
	readonly #revisions = new Map<string, number>();
	#latest = 0;
	readonly #own = new Map<string, Own>();
	/** Each key has one writer, to keep its order. */
	readonly #writers: Promise<void>[] = Array.from({ length: writersAtMost }, () => Promise.resolve());
	readonly #failed = new Map<string, Own>();
	#retry: NodeJS.Timeout | undefined;
	readonly #held: { readonly revision: number; readonly run: () => void }[] = [];
	#stopWatching: Unsubscribe = () => {};
	#isClosed = false;

	constructor(options: DirectoryOptions) {
		this.#options = options;
	}

	/** Resolves once all entries were read. */
	async open(): Promise<void> {
		await whenReached(
			() => this.#isClosed,
			async () => {
				const bucket = await this.#options.bus.bucket(bucketName);
				this.#bucket = bucket;
				this.#stopWatching = await bucket.watch((key, entry) => {
					this.#learn(key, entry);
					this.#latest = Math.max(this.#latest, entry?.revision ?? 0);
					this.#release();
				});
			},
		);
	}

	close(): void {
		this.#isClosed = true;
		clearTimeout(this.#retry);
		this.#stopWatching();
	}

	readonly sessions: Pick<Required<SessionListener>, "onChanged" | "onForgotten"> = {
		onChanged: (session, reason) => {
			const { device, sessionId } = session;
			// A label is a record, which each gateway reads itself.
			if (session.link.isRemote || reason === "labelled") return;
			// The session that took its place is written.
			if (device && device.session !== session) return;
			this.#write(session, isEndReason(reason) ? reason : undefined);
			// It has a name now.
			if (device && this.#own.has(sessionId))
				this.#inOrder(device.deviceId, async () => this.#remove(sessionId));
		},
		onForgotten: ({ deviceId }, why) => {
			if (why !== "removed") this.#remove(deviceId);
			else this.#own.delete(deviceId);
		},
	};

	/** Writes what a report has changed of what lists show. @param isSummaryNeeded whether another gateway shows them */
	onReport({ session, vitals, hasReported, deviceId }: Device, isSummaryNeeded: boolean): void {
		const own = this.#own.get(deviceId);
		const isChanged = own?.hasReported !== hasReported || (isSummaryNeeded && own.vitals !== vitals);
		if (isChanged) this.#write(session);
	}

	/** As `onReport`, for all devices here. */
	writeVitals(): void {
		for (const { session, vitals } of this.#own.values())
			if (session.device && session.device.vitals !== vitals) this.#write(session);
	}

	/** Relays an uplink, after what was changed before it. */
	relay(session: Session, text: string, isStateReport: boolean): void {
		const key = keyOf(session);
		const add = () => this.#options.relay.add(session, this.#revisions.get(key) ?? 0, text, isStateReport);
		if ((this.#own.get(key)?.writing ?? 0) > 0) this.#inOrder(key, async () => add());
		else add();
	}

	/** Calls back once the entry with this revision was read. */
	after(revision: number, run: () => void): void {
		if (this.#held.length === 0 && revision <= this.#latest) return run();
		this.#held.push({ revision, run });
		if (this.#held.length > heldAtMost) this.#held.shift();
	}

	/** Removes entries of a gateway that was lost: of sessions without a name, which have ended. */
	remove(keys: Iterable<string>): void {
		for (const key of keys) this.#remove(key);
	}

	#release(): void {
		for (let next = this.#held[0]; next && next.revision <= this.#latest; next = this.#held[0]) {
			this.#held.shift();
			next.run();
		}
	}

	#write(session: Session, end?: EndReason): void {
		const key = keyOf(session);
		const known = this.#own.get(key);
		if (known?.session === session && known.isLost) return;
		const fresh = { isWritten: false, isLost: false, writing: 0, vitals: undefined, hasReported: false };
		const own: Own = known?.session === session ? known : { session, end, ...fresh };
		own.end = end;
		own.vitals = session.device?.vitals;
		own.hasReported = session.device?.hasReported ?? false;
		this.#own.set(key, own);
		const text = !session.device && !session.connected ? undefined : this.#describe(own);
		if (text === undefined) this.#own.delete(key);
		own.writing += 1;
		this.#inOrder(key, async () => {
			this.#options.relay.flush();
			await this.#put(key, own, text);
			own.writing -= 1;
		});
	}

	#describe({ session, end }: Own): string {
		return describeSession(this.#options.id, session, end);
	}

	#remove(key: string): void {
		this.#own.delete(key);
		this.#inOrder(key, async () => {
			await this.#bucket?.remove(key, this.#revisions.get(key) ?? 0).catch(ignoreBusError);
		});
	}

	#inOrder(key: string, work: () => Promise<void>): void {
		const writer = Buffer.from(key).reduce((sum, byte) => sum + byte, 0) % writersAtMost;
		this.#writers[writer] = Promise.resolve(this.#writers[writer]).then(() =>
			this.#isClosed ? undefined : work().catch(this.#options.onError),
		);
	}

	/** @param text undefined: removes it */
	async #put(key: string, own: Own, text: string | undefined): Promise<void> {
		try {
			const bucket = this.#bucket;
			if (!bucket) throw new BusError("away", "The directory is not open.");
			while (!own.isLost && !this.#isClosed) {
				const before = this.#revisions.get(key) ?? 0;
				if (text === undefined) {
					if (before === 0 || (await bucket.remove(key, before))) return;
				} else {
					this.#options.onWrite();
					const written = await bucket.set(key, text, before);
					if (written !== undefined) {
						own.isWritten = true;
						this.#failed.delete(key);
						this.#revisions.set(key, Math.max(written, this.#revisions.get(key) ?? 0));
						return;
					}
				}
				const entry = await bucket.get(key);
				this.#learn(key, entry);
				if (text === undefined && !entry) return;
			}
		} catch (error) {
			ignoreBusError(error);
			this.#failed.set(key, own);
			this.#retry ??= setTimeout(() => this.writeFailed(), retryMs).unref();
		}
	}

	/** Writes again what could not be written. */
	writeFailed(): void {
		clearTimeout(this.#retry);
		this.#retry = undefined;
		const failed = [...this.#failed];
		this.#failed.clear();
		for (const [key, { session, end }] of failed) {
			if (this.#own.get(key)?.session === session || !session.device) this.#write(session, end);
		}
	}

	/** Takes in an entry. */
	#learn(key: string, entry: Entry | undefined): void {
		if (entry && entry.revision <= (this.#revisions.get(key) ?? 0)) return;
		if (entry) this.#revisions.set(key, entry.revision);
		else this.#revisions.delete(key);
		const other = entry && this.#read(entry.text);
		if (entry && !other) return;
		const own = this.#own.get(key);
		if (!own) {
			if (other?.gateway !== this.#options.id) this.#options.onEntry(key, other);
			return;
		}
		const { session, isWritten, end } = own;
		if (!other) return session.connected ? this.#write(session, end) : undefined;
		if (other.gateway === this.#options.id) return;
		// This connection is written after it.
		if (session.connected && !isWritten) return;
		own.isLost = true;
		this.#options.sessions.end(session, "replaced", replaced);
		this.#own.delete(key);
		this.#failed.delete(key);
		this.#options.onEntry(key, other);
	}

	#read(text: string): DirectoryEntry | undefined {
		try {
			return readEntry(text);
		} catch (error) {
			this.#options.onError(error);
			return undefined;
		}
	}
}

function keyOf({ device, sessionId }: Session): string {
	return device?.deviceId ?? sessionId;
}

/** The bus is away, and says so itself. */
function ignoreBusError(error: unknown): void {
	if (!(error instanceof BusError)) throw error;
}
