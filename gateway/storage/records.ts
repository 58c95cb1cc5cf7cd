/**
 * Records: one JSON text per device or other key, stored by an engine: files (file-records.ts) or the bucket of a cluster.
 * Pending changes of a record are written together; a failed write is retried every second.
 */

import { deviceId as deviceIdSchema } from "../../device/protocol/messages.js";
import { matches } from "../../device/protocol/schema.js";
import { wellFormedJson } from "../api/json.js";
import { errorCode } from "../problem.js";
import { Queues } from "./queue.js";

/** For answers where something could not be stored. */
export interface Storage {
	/** Name for messages, such as "the data folder". */
	readonly place: string;
	/** 507: it is full or broken; 503: it cannot be reached. */
	readonly status: 503 | 507;
}

/** Storage of records. */
export interface RecordEngine {
	/** Passes each record that there is, without a text if it cannot be read now. @throws {Error} if none can be had */
	each(onText: (key: string, text: string | undefined) => void): Promise<void>;
	/** @returns undefined if there is none, or it cannot be read */
	read(key: string): Promise<string | undefined>;
	/** @param text undefined: removes it @throws {Superseded} @throws {Error} with a code, or a message, that says why */
	write(key: string, text: string | undefined): Promise<void>;
	/** For messages, such as a path. */
	placeOf(key: string): string;
	/** @param why code or message of a write that failed @returns why nothing can be written; undefined if only this is not */
	problemOf(why: string): string | undefined;
	/** Called with a record written by another process; undefined: removed. */
	onChange?: ((key: string, text: string | undefined) => void) | undefined;
	close(): Promise<void>;
}

/** Another process has written a record first: the change is dropped. */
export class Superseded extends Error {}

/** Definition of a type of record. */
export interface RecordKind<T> {
	/** In the plural, for messages. */
	readonly what: string;
	/** Advice in the message about a damaged record. */
	readonly advice?: string;
	readonly format: (record: T) => string;
	/** Keys of other forms are left alone; default: those of devices' ids. */
	readonly isKey?: (key: string) => boolean;
	/** Throws, or returns undefined, if the content is invalid. */
	readonly parse: (content: string, deviceId: string) => T | undefined;
}

export interface RecordOptions<T> extends RecordKind<T> {
	/** Names the folder, or what is in its place. */
	readonly name: string;
	readonly onProblem: (sentence: string) => void;
	/** Called with what another process has written, undefined if it was removed. */
	readonly onRecord?: (deviceId: string, record: T | undefined) => void;
	/** For a kind of which nothing else than that another process has removed it is needed. */
	readonly onRemoved?: (deviceId: string) => void;
}

/** Makes a store of one record for each device. */
export type CreateRecords = <T>(options: RecordOptions<T>) => Records<T>;

export function isDeviceId(key: string): boolean {
	return matches(deviceIdSchema, key);
}

const writersAtMost = 8;
const retryMs = 1_000;

interface Waiting<T> {
	/** Undefined: to remove. */
	record: T | undefined;
	/** Another process has written first. */
	isSuperseded: boolean;
	readonly written: Promise<boolean>;
}

export class Records<T> {
	/** Keys of records that exist and could not be read: what belongs to them is not to be removed. */
	readonly unread = new Set<string>();
	readonly #options: Omit<RecordOptions<T>, "name"> & { readonly engine: RecordEngine };
	readonly #waiting = new Map<string, Waiting<T>>();
	/** Failed writes, the one that was tried longest ago first, each with its error. */
	readonly #failed = new Map<string, { readonly record: T; readonly why: string }>();
	#retry: NodeJS.Timeout | undefined;
	#isClosed = false;
	/** A device has one writer, to keep its changes in order. */
	readonly #writers = new Queues(writersAtMost);

	constructor(options: Omit<RecordOptions<T>, "name"> & { readonly engine: RecordEngine }) {
		this.#options = options;
		options.engine.onChange = (deviceId, text) => this.#onChange(deviceId, text);
	}

	/** Undefined if records can be written. */
	get readinessProblem(): string | undefined {
		for (const { why } of this.#failed.values()) {
			const problem = this.#options.engine.problemOf(why);
			if (problem !== undefined) return problem;
		}
		return undefined;
	}

	/**
	 * Loads all records; invalid ones are reported and left out.
	 * @returns records by device id
	 * @throws {Error} if none can be had, such as of a folder that cannot be used
	 */
	async load(): Promise<Map<string, T>> {
		const records = new Map<string, T>();
		await this.each((deviceId, record) => records.set(deviceId, record));
		return records;
	}

	/** Loads records as `load` does, but a few at a time, to save memory. */
	async each(onRecord: (deviceId: string, record: T) => void): Promise<void> {
		await this.#options.engine.each((deviceId, text) => {
			if (text === undefined) return void this.unread.add(deviceId);
			const record = this.#isKey(deviceId) ? this.#parse(text, deviceId) : undefined;
			if (record !== undefined) onRecord(deviceId, record);
		});
	}

	/** @returns the record as it is kept; undefined if there is none, or it is damaged or cannot be read */
	async read(deviceId: string): Promise<T | undefined> {
		const content = await this.#options.engine.read(deviceId);
		return content === undefined ? undefined : this.#parse(content, deviceId);
	}

	/** @returns whether this record, or a later one, is kept; if not, it is tried again every second */
	save(deviceId: string, record: T): Promise<boolean> {
		return this.#set(deviceId, record);
	}

	/**
	 * Unlike `save`, it is tried once.
	 * @throws {Superseded} after `onRecord` was called
	 * @throws {Error} of the engine; then it may be written or not: save, or remove, it as it was
	 */
	saveOnce(deviceId: string, record: T): Promise<void> {
		const { engine, format } = this.#options;
		return this.#writers.add(deviceId, () => engine.write(deviceId, format(record)));
	}

	/** @returns whether it is gone; if not, that is not tried again */
	remove(deviceId: string): Promise<boolean> {
		return this.#set(deviceId, undefined);
	}

	/** Resolves when all is written, except what has failed. */
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
		await this.#options.engine.close();
	}

	/** Applies a change by another process, which supersedes pending ones, such as after a device has moved. */
	#onChange(deviceId: string, text: string | undefined): void {
		if (!this.#isKey(deviceId)) return;
		this.#failed.delete(deviceId);
		const waiting = this.#waiting.get(deviceId);
		if (waiting) waiting.isSuperseded = true;
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
		const waiting = this.#waiting.get(deviceId);
		if (waiting) {
			waiting.record = record;
			waiting.isSuperseded = false;
			return waiting.written;
		}
		const written = this.#writers.add(deviceId, () => this.#write(deviceId));
		this.#waiting.set(deviceId, { record, isSuperseded: false, written });
		return written;
	}

	async #write(deviceId: string): Promise<boolean> {
		const { engine, format } = this.#options;
		const { record, isSuperseded } = this.#waiting.get(deviceId) ?? {};
		this.#waiting.delete(deviceId);
		if (isSuperseded) return false;
		// The older record that failed must not replace this one.
		const failed = this.#failed.get(deviceId);
		if (record === undefined) this.#failed.delete(deviceId);
		else if (failed) this.#failed.set(deviceId, { ...failed, record });
		try {
			await engine.write(deviceId, record === undefined ? undefined : format(record));
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
		const isNews = this.#failed.get(deviceId)?.why !== why && this.#failed.size < writersAtMost;
		this.#failed.delete(deviceId);
		if (record === undefined) return onProblem(`The ${what} of ${deviceId} could not be removed (${why}).`);
		this.#failed.set(deviceId, { record, why });
		if (isNews)
			onProblem(`The ${what} of ${deviceId} could not be kept (${why}); it is tried again every second.`);
		this.#retry ??= this.#retrySoon();
	}

	#retrySoon(): NodeJS.Timeout | undefined {
		if (this.#isClosed || this.#failed.size === 0) return undefined;
		return setTimeout(() => this.#writeFailed(), retryMs).unref();
	}

	/** All of them, a few at a time; stops where some fail again, as on a full disk. */
	async #writeFailed(): Promise<void> {
		const failed = [...this.#failed];
		for (let from = 0; from < failed.length; from += writersAtMost) {
			// Skips those with a later record written or pending.
			const due = failed
				.slice(from, from + writersAtMost)
				.filter(([id, { record }]) => this.#failed.get(id)?.record === record && !this.#waiting.has(id));
			const written = await Promise.all(due.map(([id, { record }]) => this.save(id, record)));
			if (written.includes(false)) break;
		}
		this.#retry = this.#retrySoon();
	}

	#parse(content: string, deviceId: string): T | undefined {
		const { parse, what, advice, engine, onProblem } = this.#options;
		try {
			const record = parse(wellFormedJson(content), deviceId);
			if (record !== undefined) return record;
		} catch {
			// Reported below.
		}
		onProblem(
			`${engine.placeOf(deviceId)} is damaged; the ${what} in it are lost${advice ? `: ${advice}` : ""}.`,
		);
		return undefined;
	}
}
