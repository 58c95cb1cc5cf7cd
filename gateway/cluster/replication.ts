/**
 * Keeps records the same on several gateways. Each has its own, on disk, and goes on with them while the bus is away;
 * a bucket passes on what changes. A record that two gateways have changed meanwhile is merged.
 */

import type { Bucket, Bus, Entry, Unsubscribe } from "../bus.js";
import { type Content, Contents, type ReplicationRules } from "./replicated-content.js";

/** Where a gateway has its own records. */
export interface OwnRecords<T> {
	read(key: string): Promise<T | undefined>;
	/** @throws {BusError} if it is to be tried again */
	save(key: string, record: T): Promise<unknown>;
	remove(key: string): Promise<unknown>;
}

export interface ReplicationOptions<T> extends ReplicationRules<T> {
	readonly bus: Bus;
	readonly bucket: string;
	/** The only one in use; undefined: all of the bucket that `isKey` accepts. */
	readonly key?: string;
	/** Others are left out: a key may become the name of a file. */
	readonly isKey?: (key: string) => boolean;
	readonly own: OwnRecords<T>;
	/** Called with what another gateway has changed, or undefined if it was removed. */
	readonly onRecord: (key: string, record: T | undefined) => void;
	/** Called when the bucket has what was changed here. */
	readonly onTold?: (key: string) => void;
	/** Called before a record is written to the bucket. @throws {BusError} */
	readonly prepare?: (record: T) => Promise<void>;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly onProblem: (sentence: string) => void;
}

/** Of a key, as this gateway has it. */
interface Known {
	/** Of its state; undefined: there is none. */
	digest: string | undefined;
	/** The bucket's, which is contained in this gateway's record; 0: unknown. */
	revision: number;
}

/** What is to be done with a key. */
interface Task<T> {
	/** Changed here. */
	mine?: Content<T> | undefined;
	/** Read from the bucket; null: it has none. */
	told?: Entry | null | undefined;
}

const tasksAtOnce = 8;
const retryMs = 1_000;
/** Limit for writing the last changes when the store is closed. */
const closeMs = 2_000;

export class Replication<T> {
	readonly #options: ReplicationOptions<T>;
	readonly #contents: Contents<T>;
	readonly #known = new Map<string, Known>();
	readonly #tasks = new Map<string, Task<T>>();
	/** Keys of tasks that nothing works on. */
	readonly #waiting = new Set<string>();
	readonly #busy = new Set<string>();
	#bucket: Bucket | undefined;
	#stopWatching: Unsubscribe = () => {};
	#stopListening: Unsubscribe = () => {};
	#timer: NodeJS.Timeout | undefined;
	#isClosed = false;
	#hasCaughtUp = false;
	#onIdle = () => {};

	constructor(options: ReplicationOptions<T>) {
		this.#options = options;
		this.#contents = new Contents(options);
	}

	/** Whether the bucket has all that was changed here, and this gateway all that it was told of. */
	get isIdle(): boolean {
		return this.#bucket !== undefined && this.#tasks.size === 0;
	}

	/** Whether `isIdle` was true once. */
	get hasCaughtUp(): boolean {
		return this.#hasCaughtUp;
	}

	/** To be called for each record that this gateway has at its start. */
	has(key: string, record: T): void {
		this.#known.set(key, { digest: this.#contents.digestOf({ record }), revision: 0 });
	}

	/** To be called for each record that was removed here in an earlier run, which others may not know. */
	hadRemoved(key: string, removedAt: number): void {
		const mine = { removedAt };
		this.#known.set(key, { digest: this.#contents.digestOf(mine), revision: 0 });
		this.#add(key, { mine });
	}

	/** Begins to exchange records, now or once the bus is connected. */
	start(): void {
		this.#stopListening = this.#options.bus.onStatus((isConnected) => {
			// The bucket may be another one when it is back.
			if (!isConnected) for (const known of this.#known.values()) known.revision = 0;
			else this.#tryAgain();
		});
		this.#tryAgain();
	}

	/** To be called after a record was changed here. */
	changed(key: string, record: T): void {
		this.#change(key, { record });
	}

	/** To be called after a record was removed here. @returns whether that is to be told */
	removed(key: string, removedAt: number = this.#options.now()): boolean {
		return this.#known.get(key)?.digest !== undefined && this.#change(key, { removedAt });
	}

	/** Writes what waits, if that does not take long. */
	async close(): Promise<void> {
		if (this.#options.bus.isConnected && !this.isIdle) {
			let timer: NodeJS.Timeout | undefined;
			await new Promise<void>((resolve) => {
				this.#onIdle = resolve;
				timer = setTimeout(resolve, closeMs);
			});
			clearTimeout(timer);
		}
		this.#isClosed = true;
		clearTimeout(this.#timer);
		this.#stopListening();
		this.#stopWatching();
	}

	/** @returns whether it is one */
	#change(key: string, mine: Content<T>): boolean {
		const known = this.#knownOf(key);
		const digest = this.#contents.digestOf(mine);
		if (digest === known.digest) return false;
		known.digest = digest;
		this.#add(key, { mine });
		return true;
	}

	#tryAgain(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		if (this.#isClosed || !this.#options.bus.isConnected) return;
		for (const key of this.#tasks.keys()) if (!this.#busy.has(key)) this.#waiting.add(key);
		if (this.#bucket) this.#work();
		else this.#open().catch((error: unknown) => this.#onFailed(error));
	}

	async #open(): Promise<void> {
		const { bus, bucket: name, key: only, isKey = () => true } = this.#options;
		const bucket = await bus.bucket(name);
		if (this.#bucket || this.#isClosed) return;
		const stop = await bucket.watch((key, entry) => {
			if (only === undefined ? isKey(key) : key === only) this.#add(key, { told: entry ?? null });
		});
		// Two attempts may have been under way.
		if (this.#bucket || this.#isClosed) return stop();
		this.#stopWatching = stop;
		this.#bucket = bucket;
		for (const [key, { digest, revision }] of this.#known)
			if (digest !== undefined && revision === 0 && !this.#tasks.has(key)) this.#add(key, { told: null });
		this.#work();
	}

	#onFailed(error: unknown): void {
		// A bus that is away says so itself.
		if (!(error instanceof Error && "problem" in error))
			this.#options.onProblem(`${this.#options.bucket}: ${error instanceof Error ? error.message : error}`);
		if (!this.#isClosed) this.#timer ??= setTimeout(() => this.#tryAgain(), retryMs).unref();
	}

	#add(key: string, part: Task<T>): void {
		this.#tasks.set(key, Object.assign(this.#tasks.get(key) ?? {}, part));
		if (this.#busy.has(key)) return;
		this.#waiting.add(key);
		this.#work();
	}

	#work(): void {
		while (this.#bucket && this.#options.bus.isConnected && this.#busy.size < tasksAtOnce) {
			const [key] = this.#waiting;
			const task = key === undefined ? undefined : this.#tasks.get(key);
			if (key === undefined || !task) break;
			this.#waiting.delete(key);
			this.#busy.add(key);
			this.#carryOut(this.#bucket, key, task)
				.catch((error: unknown) => this.#onFailed(error))
				.finally(() => {
					this.#busy.delete(key);
					this.#work();
				});
		}
		if (!this.isIdle) return;
		this.#hasCaughtUp = true;
		this.#onIdle();
	}

	/** @throws {BusError} the task stays */
	async #carryOut(bucket: Bucket, key: string, task: Task<T>): Promise<void> {
		const { prepare } = this.#options;
		while (task.mine || task.told !== undefined) {
			if (task.told !== undefined) await this.#take(key, task, task.told);
			const { mine } = task;
			if (!mine || task.told !== undefined) continue;
			if (mine.removedAt === undefined) await prepare?.(mine.record);
			const known = this.#knownOf(key);
			const revision = await bucket.set(key, this.#contents.format(mine), known.revision);
			if (revision === undefined) {
				// Also where the bucket has an earlier one, as a server has lost what was written last.
				known.revision = 0;
				task.told = (await bucket.get(key)) ?? null;
			} else {
				known.revision = revision;
				if (task.mine === mine) task.mine = undefined;
			}
		}
		this.#tasks.delete(key);
		this.#options.onTold?.(key);
	}

	/** Merges what the bucket has into what is here. */
	async #take(key: string, task: Task<T>, told: Entry | null): Promise<void> {
		const known = this.#knownOf(key);
		task.told = undefined;
		// Written by this gateway, or already merged.
		if (told && told.revision <= known.revision) return;
		const theirs = told ? this.#parse(key, told.text) : undefined;
		const theirDigest = theirs && this.#contents.digestOf(theirs);
		// A change of a record that is contained in theirs replaces it.
		const isBased = known.digest === undefined || (told !== null && known.revision > 0);
		const changed = task.mine;
		const mine = changed ?? (isBased || theirDigest === known.digest ? undefined : await this.#readOwn(key));
		if (task.mine !== changed) {
			task.told ??= told;
			return;
		}
		known.revision = told?.revision ?? 0;
		const joined = theirs && mine ? this.#contents.merge(theirs, mine) : (theirs ?? mine);
		const digest = joined && this.#contents.digestOf(joined);
		task.mine = digest === theirDigest ? undefined : joined;
		if (joined && digest !== known.digest) await this.#adopt(key, task, joined, told);
	}

	async #adopt(key: string, task: Task<T>, content: Content<T>, told: Entry | null): Promise<void> {
		const { own, onRecord } = this.#options;
		const known = this.#knownOf(key);
		const previous = known.digest;
		known.digest = this.#contents.digestOf(content);
		const isRemoved = content.removedAt !== undefined;
		const done = isRemoved ? own.remove(key) : own.save(key, content.record);
		if (!isRemoved || previous !== undefined) onRecord(key, isRemoved ? undefined : content.record);
		try {
			await done;
		} catch (error) {
			known.digest = previous;
			known.revision = 0;
			task.told ??= told;
			throw error;
		}
	}

	#parse(key: string, text: string): Content<T> | undefined {
		const content = this.#contents.parse(text, key);
		const { bucket, onProblem } = this.#options;
		if (!content) onProblem(`${bucket}: the record of ${key} is not understood, and is replaced.`);
		return content;
	}

	async #readOwn(key: string): Promise<Content<T> | undefined> {
		const record = await this.#options.own.read(key);
		return record === undefined ? undefined : { record };
	}

	#knownOf(key: string): Known {
		const known = this.#known.get(key) ?? { digest: undefined, revision: 0 };
		this.#known.set(key, known);
		return known;
	}
}
