/**
 * Records in a bucket shared with other gateways. Each write is a compare-and-set against the revision this
 * gateway has read; of two concurrent writers, one is superseded.
 */

import { type Bucket, type Bus, BusError } from "../bus.js";
import { retryUntilConnected } from "../retry-until-connected.js";
import type { Entry, Unsubscribe } from "../storage/log.js";
import { type RecordEngine, Superseded } from "../storage/records.js";

export interface BucketRecordsOptions {
	readonly bus: Bus;
	readonly bucket: string;
	/**
	 * Migrates local records to the bucket.
	 * @throws {BusError}
	 */
	readonly migrate: (bucket: Bucket) => Promise<void>;
	readonly onProblem: (sentence: string) => void;
}

/** Engine without `problemOf`: readiness does not depend on the bus, as devices stay connected without it. */
export class BucketRecords implements RecordEngine {
	readonly #options: BucketRecordsOptions;
	#bucket: Bucket | undefined;
	/** Revisions read or written, by key. */
	readonly #revisions = new Map<string, number>();
	/** Latest written text by key, until its revision is known. */
	readonly #mine = new Map<string, string | undefined>();
	#stopWatching: Unsubscribe = () => {};
	#isClosed = false;

	constructor(options: BucketRecordsOptions) {
		this.#options = options;
	}

	onChange: RecordEngine["onChange"];

	/** Waits for the bus, without which this gateway knows no records. */
	async each(onText: (key: string, text: string) => void): Promise<void> {
		const { bus, bucket: name, migrate, onProblem } = this.#options;
		await retryUntilConnected({ isClosed: () => this.#isClosed, onProblem }, async () => {
			const bucket = await bus.bucket(name);
			await migrate(bucket);
			let isLoading = true;
			this.#stopWatching = await bucket.watch((key, entry) => {
				if (!this.#onEntry(key, entry)) return;
				if (!isLoading) this.onChange?.(key, entry?.text);
				else if (entry) onText(key, entry.text);
			});
			isLoading = false;
			this.#bucket = bucket;
		});
	}

	async read(key: string): Promise<string | undefined> {
		const entry = await this.#bucket?.get(key).catch(() => undefined);
		return entry?.text;
	}

	/**
	 * @throws {BusError} The result is unknown.
	 * @throws {Superseded}
	 */
	async write(key: string, text: string | undefined): Promise<void> {
		const bucket = this.#bucket;
		if (!bucket) throw new BusError("disconnected", `${this.#options.bucket} is not open.`);
		for (;;) {
			const revision = this.#revisions.get(key) ?? 0;
			if (text === undefined && revision === 0 && !this.#mine.has(key)) return;
			/** Text of an own write whose response was lost. */
			const unanswered = this.#mine.get(key);
			this.#mine.set(key, text);
			if (await this.#set(bucket, key, text, revision)) return;
			const entry = await bucket.get(key);
			const isLost = entry ? entry.revision <= revision : revision === 0;
			const isMine = entry !== undefined && (entry.text === unanswered || entry.text === text);
			if (isLost || isMine) this.#know(key, entry?.revision);
			else if (text === undefined && !entry) return this.#know(key, undefined);
			else {
				this.#mine.delete(key);
				if (this.#onEntry(key, entry)) this.onChange?.(key, entry?.text);
				throw new Superseded();
			}
		}
	}

	locate(key: string): string {
		return `The record ${key} in the bucket ${this.#options.bucket}`;
	}

	close(): void {
		this.#isClosed = true;
		this.#stopWatching();
	}

	async #set(bucket: Bucket, key: string, text: string | undefined, revision: number): Promise<boolean> {
		if (text === undefined) {
			if (!(await bucket.remove(key, revision))) return false;
			this.#know(key, undefined);
			return true;
		}
		const written = await bucket.set(key, text, revision);
		if (written !== undefined) this.#know(key, written);
		return written !== undefined;
	}

	#know(key: string, revision: number | undefined): void {
		this.#mine.delete(key);
		if (revision === undefined) this.#revisions.delete(key);
		else this.#revisions.set(key, revision);
	}

	/** @returns whether another gateway wrote the entry */
	#onEntry(key: string, entry: Entry | undefined): boolean {
		const known = this.#revisions.get(key);
		if (entry ? entry.revision <= (known ?? 0) : known === undefined) return false;
		const isMine = this.#mine.has(key) && this.#mine.get(key) === entry?.text;
		if (entry) this.#revisions.set(key, entry.revision);
		else this.#revisions.delete(key);
		return !isMine;
	}
}
