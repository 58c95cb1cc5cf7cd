/** A JSON file store whose records other gateways have too. It writes to disk as one that is alone does. */

import { deviceId } from "../../device/protocol/messages.js";
import { matches } from "../../device/protocol/schema.js";
import type { Bus } from "../bus.js";
import { JsonFileStore, type JsonFileStoreOptions, type RecordStore } from "../storage/json-file-store.js";
import { Removals } from "./removals.js";
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
	readonly #removals: Removals;
	readonly #replication: Replication<T>;
	readonly #now: () => number;

	constructor(options: ReplicatedStoreOptions<T>) {
		this.#local = new JsonFileStore(options);
		this.#removals = new Removals({ ...options, path: `${options.directory}-removed.json` });
		const onTold = (deviceId: string) => this.#removals.drop(deviceId);
		const isKey = (key: string) => matches(deviceId, key);
		this.#replication = new Replication({ ...options, own: this.#local, onTold, isKey });
		this.#now = options.now;
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
		const removals = new Map(await this.#removals.load());
		await this.#local.each((deviceId, record) => {
			removals.delete(deviceId);
			this.#replication.has(deviceId, record);
			onRecord(deviceId, record);
		});
		for (const [deviceId, removedAt] of removals) this.#replication.hadRemoved(deviceId, removedAt);
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
		this.#removals.drop(deviceId);
		this.#replication.changed(deviceId, record);
		return saved;
	}

	async remove(deviceId: string): Promise<boolean> {
		const removed = this.#local.remove(deviceId);
		const removedAt = this.#now();
		if (this.#replication.removed(deviceId, removedAt)) await this.#removals.add(deviceId, removedAt);
		return removed;
	}

	settle(): Promise<void> {
		return this.#local.settle();
	}

	async close(): Promise<void> {
		await this.#replication.close();
		await this.#removals.close();
		await this.#local.close();
	}
}
