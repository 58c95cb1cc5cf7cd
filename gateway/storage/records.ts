/**
 * Records: one JSON text per device or other key, stored in files (file-records.ts) or in a bucket of the cluster. Pending changes of
 * a record are combined into one write. A failed write is retried every second.
 */

import { deviceId as deviceIdSchema } from "../../device/protocol/messages.js";
import { type Infer, matches, type Schema } from "../../device/protocol/schema.js";
import { wellFormedJson } from "../api/json.js";
import { errorCode } from "../problem.js";
import { Queues } from "./queue.js";

/** Description of the storage for responses to requests whose changes could not be stored. */
export interface Storage {
	/** Name for messages, such as "the data folder". */
	readonly place: string;
	/** 507 if the storage is full or broken, 503 if it is unreachable. */
	readonly status: 503 | 507;
}

export interface RecordEngine {
	/** Passes each record, with undefined if it cannot be read. @throws {Error} if the storage is unavailable */
	each(onText: (key: string, text: string | undefined) => void): Promise<void>;
	/** @returns undefined if the record is missing or cannot be read */
	read(key: string): Promise<string | undefined>;
	/** @param text undefined: removes the record @throws {Superseded} @throws {Error} with the reason as code or message */
	write(key: string, text: string | undefined): Promise<void>;
	/** Returns the location of a record for messages, such as a path. */
	locate(key: string): string;
	/**
	 * Returns the problem of the storage, on which readiness depends; undefined if it concerns only one record.
	 * @param why code or message of a failed write
	 */
	problemOf?(why: string): string | undefined;
	/** Called with a record written by another process; undefined: removed. */
	onChange?: ((key: string, text: string | undefined) => void) | undefined;
	close?(): void;
}

/** Thrown if another process has written a record first. The change is dropped. */
export class Superseded extends Error {}

/** Definition of a record type. */
export interface RecordKind<T> {
	/** Plural noun for messages. */
	readonly what: string;
	/** Remedy in the message about a damaged record. */
	readonly advice?: string;
	/** Returns the value to store as JSON. Default: the record itself. */
	readonly format?: (record: T) => object;
	/** Whether a key is valid. Others are ignored. Default: device ids. */
	readonly isKey?: (key: string) => boolean;
	/** Throws, or returns undefined, if the stored value is invalid. */
	readonly parse: (value: unknown, deviceId: string) => T | undefined;
}

/** Format of records that are stored as they are. */
export function jsonRecord<const S extends Schema>(schema: S) {
	return { parse: (value: unknown): Infer<S> | undefined => (matches(schema, value) ? value : undefined) };
}

export interface RecordOptions<T> extends RecordKind<T> {
	/** Name of the folder or bucket. */
	readonly name: string;
	readonly onProblem: (sentence: string) => void;
	/** Called with a record written by another process; undefined: removed. */
	readonly onRecord?: (deviceId: string, record: T | undefined) => void;
	/** Called when another process has removed a record. */
	readonly onRemoved?: (deviceId: string) => void;
}

/** Creates a store for one record type. */
export type CreateRecords = <T>(options: RecordOptions<T>) => Records<T>;

/** Opens a store for one record type, whose problems are logged. It is closed when the gateway stops. */
export type OpenRecords = <T>(options: Omit<RecordOptions<T>, "onProblem">) => Records<T>;

export function isDeviceId(key: string): boolean {
	return matches(deviceIdSchema, key);
}

const maxWriters = 8;
const retryMs = 1_000;

interface PendingWrite<T> {
	/** Undefined: removal. */
	record: T | undefined;
	/** Whether another process has written first. */
	isSuperseded: boolean;
	readonly written: Promise<boolean>;
}

export class Records<T> {
	/** Keys of unreadable records, whose related data must not be removed. */
	readonly unread = new Set<string>();
	readonly #options: Omit<RecordOptions<T>, "name"> & { readonly engine: RecordEngine };
	readonly #pending = new Map<string, PendingWrite<T>>();
	/** Failed writes with their errors, the least recently attempted first. */
	readonly #failed = new Map<string, { readonly record: T; readonly why: string }>();
	#retry: NodeJS.Timeout | undefined;
	#isClosed = false;
	/** Writers; the same device always uses the same one, which preserves the order of its changes. */
	readonly #writers = new Queues(maxWriters);

	constructor(options: Omit<RecordOptions<T>, "name"> & { readonly engine: RecordEngine }) {
		this.#options = options;
		options.engine.onChange = (deviceId, text) => this.#onChange(deviceId, text);
	}

	/** Reason why records cannot be written; undefined if they can. */
	get readinessProblem(): string | undefined {
		for (const { why } of this.#failed.values()) {
			const problem = this.#options.engine.problemOf?.(why);
			if (problem !== undefined) return problem;
		}
		return undefined;
	}

	/**
	 * Loads all records. Invalid ones are reported and ignored.
	 * @returns records by device id
	 * @throws {Error} if the storage is unavailable
	 */
	async load(): Promise<Map<string, T>> {
		const records = new Map<string, T>();
		await this.each((deviceId, record) => records.set(deviceId, record));
		return records;
	}

	/** Loads all records like `load`, but a few at a time, to save memory. */
	async each(onRecord: (deviceId: string, record: T) => void): Promise<void> {
		await this.#options.engine.each((deviceId, text) => {
			if (text === undefined) return void this.unread.add(deviceId);
			const record = this.#isKey(deviceId) ? this.#parse(text, deviceId) : undefined;
			if (record !== undefined) onRecord(deviceId, record);
		});
	}

	/** @returns stored record; undefined if it is missing, damaged or unreadable */
	async read(deviceId: string): Promise<T | undefined> {
		const content = await this.#options.engine.read(deviceId);
		return content === undefined ? undefined : this.#parse(content, deviceId);
	}

	/** Writes a record, retrying every second. @returns whether it, or a later one, was written at the first attempt */
	save(deviceId: string, record: T): Promise<boolean> {
		return this.#set(deviceId, record);
	}

	/**
	 * Writes a record without retries.
	 * @throws {Superseded} after `onRecord` was called
	 * @throws {Error} if writing fails. The record may or may not be written, so restore the previous one.
	 */
	saveOnce(deviceId: string, record: T): Promise<void> {
		return this.#writers.add(deviceId, () => this.#options.engine.write(deviceId, this.#format(record)));
	}

	/** @returns whether the record was removed; a failure is not retried */
	remove(deviceId: string): Promise<boolean> {
		return this.#set(deviceId, undefined);
	}

	/** Resolves when all pending writes have succeeded or failed. */
	settle(): Promise<void> {
		return this.#writers.settle();
	}

	/** Retries failed writes once, then stops. */
	async close(): Promise<void> {
		this.#isClosed = true;
		clearTimeout(this.#retry);
		await this.settle();
		for (const [deviceId, { record }] of this.#failed) void this.save(deviceId, record);
		await this.settle();
		this.#options.engine.close?.();
	}

	/** Applies a change by another process, which supersedes pending ones, for example after a device has moved to another gateway. */
	#onChange(deviceId: string, text: string | undefined): void {
		if (!this.#isKey(deviceId)) return;
		this.#failed.delete(deviceId);
		const pending = this.#pending.get(deviceId);
		if (pending) pending.isSuperseded = true;
		const { onRecord, onRemoved } = this.#options;
		if (text === undefined) onRemoved?.(deviceId);
		if (!onRecord) return;
		const record = text === undefined ? undefined : this.#parse(text, deviceId);
		if (text === undefined || record !== undefined) onRecord(deviceId, record);
	}

	#isKey(key: string): boolean {
		return (this.#options.isKey ?? isDeviceId)(key);
	}

	#set(deviceId: string, record: T | undefined): Promise<boolean> {
		const pending = this.#pending.get(deviceId);
		if (pending) {
			pending.record = record;
			pending.isSuperseded = false;
			return pending.written;
		}
		const written = this.#writers.add(deviceId, () => this.#write(deviceId));
		this.#pending.set(deviceId, { record, isSuperseded: false, written });
		return written;
	}

	async #write(deviceId: string): Promise<boolean> {
		const { record, isSuperseded } = this.#pending.get(deviceId) ?? {};
		this.#pending.delete(deviceId);
		if (isSuperseded) return false;
		// A retry of an earlier failed write must not replace this record.
		const failed = this.#failed.get(deviceId);
		if (record === undefined) this.#failed.delete(deviceId);
		else if (failed) this.#failed.set(deviceId, { ...failed, record });
		try {
			await this.#options.engine.write(deviceId, record === undefined ? undefined : this.#format(record));
			this.#failed.delete(deviceId);
			return true;
		} catch (error) {
			if (error instanceof Superseded) this.#failed.delete(deviceId);
			else this.#fail(deviceId, record, errorCode(error) ?? String(error));
			return false;
		}
	}

	#fail(deviceId: string, record: T | undefined, why: string): void {
		const { what, onProblem } = this.#options;
		const isNew = this.#failed.get(deviceId)?.why !== why && this.#failed.size < maxWriters;
		this.#failed.delete(deviceId);
		if (record === undefined) return onProblem(`Removing the ${what} of ${deviceId} failed (${why}).`);
		this.#failed.set(deviceId, { record, why });
		if (isNew) onProblem(`Storing the ${what} of ${deviceId} failed (${why}). Retrying every second.`);
		this.#retry ??= this.#retrySoon();
	}

	#retrySoon(): NodeJS.Timeout | undefined {
		if (this.#isClosed || this.#failed.size === 0) return undefined;
		return setTimeout(() => this.#writeFailed(), retryMs).unref();
	}

	/** Retries failed writes, a few at a time, until one fails again, as on a full disk. */
	async #writeFailed(): Promise<void> {
		const failed = [...this.#failed];
		for (let from = 0; from < failed.length; from += maxWriters) {
			// Skips keys with a later record that is written or pending.
			const due = failed
				.slice(from, from + maxWriters)
				.filter(([id, { record }]) => this.#failed.get(id)?.record === record && !this.#pending.has(id));
			const written = await Promise.all(due.map(([id, { record }]) => this.save(id, record)));
			if (written.includes(false)) break;
		}
		this.#retry = this.#retrySoon();
	}

	#format(record: T): string {
		return `${JSON.stringify(this.#options.format?.(record) ?? record, undefined, "\t")}\n`;
	}

	#parse(content: string, deviceId: string): T | undefined {
		const { parse, what, advice, engine, onProblem } = this.#options;
		try {
			const record = parse(JSON.parse(wellFormedJson(content)), deviceId);
			if (record !== undefined) return record;
		} catch {
			// Reported below.
		}
		onProblem(
			`${engine.locate(deviceId)} is damaged; the ${what} in it are lost${advice ? `: ${advice}` : ""}.`,
		);
		return undefined;
	}
}
