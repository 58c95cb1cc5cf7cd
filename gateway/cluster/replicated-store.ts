/** A JSON file store whose records other gateways have too. It writes to disk as one that is alone does. */

import { JsonFileStore, type JsonFileStoreOptions, type RecordStore } from "../json-file-store.js";
import type { Bus } from "./bus.js";
import type { ReplicationRules } from "./replicated-content.js";
import { Replication } from "./replication.js";

export interface ReplicatedStoreOptions<T> extends JsonFileStoreOptions<T>, ReplicationRules<T> {
	readonly bus: Bus;
	readonly bucket: string;
	/** Called with what another gateway has changed, or undefined if it was removed. */
	readonly onRecord: (deviceId: string, record: T | undefined) => void;
	/** Milliseconds since 1970. */
	readonly now: () => number;
}

export class ReplicatedStore<T> implements RecordStore<T> {
	readonly #local: JsonFileStore<T>;
	readonly #replication: Replication<T>;

	constructor(options: ReplicatedStoreOptions<T>) {
		this.#local = new JsonFileStore(options);
		this.#replication = new Replication({ ...options, own: this.#local });
	}

	get isIdle(): boolean {
		return this.#replication.isIdle;
	}

	get hasCaughtUp(): boolean {
		return this.#replication.hasCaughtUp;
	}

	get readinessProblem(): string | undefined {
		return this.#local.readinessProblem;
	}

	async load(): Promise<Map<string, T>> {
		const records = new Map<string, T>();
		await this.each((deviceId, record) => records.set(deviceId, record));
		return records;
	}

	/** Records that only others have come after `start`. */
	async each(onRecord: (deviceId: string, record: T) => void): Promise<void> {
		await this.#local.each((deviceId, record) => {
			this.#replication.has(deviceId, record);
			onRecord(deviceId, record);
		});
	}

	/** To be called once the records that were loaded are in use. */
	start(): void {
		this.#replication.start();
	}

	read(deviceId: string): Promise<T | undefined> {
		return this.#local.read(deviceId);
	}

	save(deviceId: string, record: T): Promise<boolean> {
		const saved = this.#local.save(deviceId, record);
		this.#replication.changed(deviceId, record);
		return saved;
	}

	remove(deviceId: string): Promise<boolean> {
		const removed = this.#local.remove(deviceId);
		this.#replication.removed(deviceId);
		return removed;
	}

	settle(): Promise<void> {
		return this.#local.settle();
	}

	async close(): Promise<void> {
		await this.#replication.close();
		await this.#local.close();
	}
}
