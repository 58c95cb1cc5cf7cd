/**
 * A JSON file store: one file per device, written atomically, so that a damaged file affects one device alone.
 * Waiting changes of a device are written together; failed writes are repeated every second.
 */

import type { Dirent } from "node:fs";
import { join } from "node:path";
import { deviceId as deviceIdSchema } from "../../device/protocol/messages.js";
import { matches } from "../../device/protocol/schema.js";
import { errorCode } from "../problem.js";
import { type Disk, isTemporary, makeFolder, removeFile, writeFileAtomic } from "./atomic-file.js";

export interface JsonFileStoreOptions<T> {
	/** Used by this store alone; made if missing. */
	readonly directory: string;
	readonly disk: Disk;
	/** In the plural, for messages. */
	readonly what: string;
	readonly format: (record: T) => string;
	/** Throws, or returns undefined, if the content is invalid. */
	readonly parse: (content: string, deviceId: string) => T | undefined;
	readonly onProblem: (sentence: string) => void;
}

export type RecordStore<T> = Pick<
	JsonFileStore<T>,
	"readinessProblem" | "load" | "each" | "read" | "save" | "remove" | "settle" | "close"
>;

export interface RecordOptions<T> extends JsonFileStoreOptions<T> {
	/** Its name for other processes with the same records. */
	readonly bucket: string;
	/** @param record from another process; undefined: removed */
	readonly onRecord: (deviceId: string, record: T | undefined) => void;
	/** Of its latest change, in milliseconds since 1970: a removal wins unless it is earlier. */
	readonly changedAt: (record: T) => number;
	/** @param theirs from another process @param mine changed here meanwhile */
	readonly merge: (theirs: T, mine: T) => T;
	/** What others need when it changes; default: all. */
	readonly stateOf?: (record: T) => string;
}

export type CreateRecords = <T>(options: RecordOptions<T>) => RecordStore<T>;

/** For merges: whether the first different value is greater in `one`. */
export function isLater(one: readonly (number | string)[], other: readonly (number | string)[]): boolean {
	const at = one.findIndex((value, index) => value !== other[index]);
	const [value = 0, against = 0] = [one[at], other[at]];
	return value > against;
}

const readersAtMost = 8;
const writersAtMost = 8;
const retryMs = 1_000;
/** The folder can still be written. */
const onePlaceTaken: readonly string[] = ["EISDIR", "EEXIST", "ENOTEMPTY", "ERR_FS_EISDIR"];

export class JsonFileStore<T> {
	readonly #options: JsonFileStoreOptions<T>;
	/** Undefined: remove. */
	readonly #waiting = new Map<string, { record: T | undefined; readonly written: Promise<boolean> }>();
	/** Failed writes, oldest attempt first, each with its error. */
	readonly #failed = new Map<string, { readonly record: T; readonly why: string }>();
	#retry: NodeJS.Timeout | undefined;
	#isClosed = false;
	/** A device has one writer, to keep its changes in order. */
	readonly #writers: Promise<unknown>[] = Array.from({ length: writersAtMost }, () => Promise.resolve());

	constructor(options: JsonFileStoreOptions<T>) {
		this.#options = options;
	}

	/** Undefined if records can be written. */
	get readinessProblem(): string | undefined {
		const { directory } = this.#options;
		for (const { why } of this.#failed.values())
			if (!onePlaceTaken.includes(why)) return `${directory} cannot be written (${why}).`;
		return undefined;
	}

	/** Reports and omits invalid records. @returns records by device id @throws {NodeJS.ErrnoException} */
	async load(): Promise<Map<string, T>> {
		const records = new Map<string, T>();
		await this.each((deviceId, record) => records.set(deviceId, record));
		return records;
	}

	/** As `load`, a few at a time, to need less memory. */
	async each(onRecord: (deviceId: string, record: T) => void): Promise<void> {
		const { directory, disk, what, onProblem } = this.#options;
		await makeFolder(disk, directory);
		const entries = (await disk.readdir(directory, { withFileTypes: true })).values();
		const read = async (entry: Dirent) => {
			const path = join(directory, entry.name);
			const [, deviceId] = /^(.+)\.json$/.exec(entry.name) ?? [];
			// A person's files, such as a copy, are left alone.
			const isRecord = matches(deviceIdSchema, deviceId);
			if (isRecord && entry.isDirectory())
				onProblem(`${path} is a folder; remove it: the ${what} of this device cannot be kept.`);
			if (!entry.isFile()) return;
			try {
				if (isTemporary(entry.name)) await disk.rm(path, { force: true });
				else if (isRecord) {
					const record = this.#parse(await disk.readFile(path, "utf8"), deviceId);
					if (record !== undefined) onRecord(deviceId, record);
					else onProblem(`${path} is damaged; the ${what} of this device are lost.`);
				}
			} catch (error) {
				onProblem(`${path} cannot be read or removed (${errorCode(error) ?? error}); it is left out.`);
			}
		};
		const reader = async () => {
			for (const entry of entries) await read(entry);
		};
		await Promise.all(Array.from({ length: readersAtMost }, reader));
	}

	/** @returns undefined if it is missing, damaged or cannot be read */
	async read(deviceId: string): Promise<T | undefined> {
		const { directory, disk } = this.#options;
		const content = await disk.readFile(join(directory, `${deviceId}.json`), "utf8").catch(() => undefined);
		return content === undefined ? undefined : this.#parse(content, deviceId);
	}

	/** @returns whether this record, or a later one, is on disk; if not, it is retried every second */
	save(deviceId: string, record: T): Promise<boolean> {
		return this.#set(deviceId, record);
	}

	/** @returns whether it is removed; if not, it is not retried */
	remove(deviceId: string): Promise<boolean> {
		return this.#set(deviceId, undefined);
	}

	/** Resolves when all is written, except what has failed. */
	async settle(): Promise<void> {
		const writers = [...this.#writers];
		await Promise.all(writers);
		if (writers.some((latest, writer) => latest !== this.#writers[writer])) await this.settle();
	}

	/** Retries failed writes once, then stops. */
	async close(): Promise<void> {
		this.#isClosed = true;
		clearTimeout(this.#retry);
		await this.settle();
		for (const [deviceId, { record }] of this.#failed) void this.save(deviceId, record);
		await this.settle();
	}

	#set(deviceId: string, record: T | undefined): Promise<boolean> {
		const waiting = this.#waiting.get(deviceId);
		if (waiting) {
			waiting.record = record;
			return waiting.written;
		}
		const writer = Buffer.from(deviceId).reduce((sum, byte) => sum + byte, 0) % writersAtMost;
		const written = Promise.resolve(this.#writers[writer]).then(() => this.#write(deviceId));
		this.#writers[writer] = written;
		this.#waiting.set(deviceId, { record, written });
		return written;
	}

	async #write(deviceId: string): Promise<boolean> {
		const { directory, disk, format } = this.#options;
		const record = this.#waiting.get(deviceId)?.record;
		this.#waiting.delete(deviceId);
		// The older record that failed must not replace this one.
		const failed = this.#failed.get(deviceId);
		if (record === undefined) this.#failed.delete(deviceId);
		else if (failed) this.#failed.set(deviceId, { ...failed, record });
		const path = join(directory, `${deviceId}.json`);
		try {
			if (record === undefined) await removeFile(disk, path);
			else await writeFileAtomic(disk, path, format(record));
			this.#failed.delete(deviceId);
			return true;
		} catch (error) {
			this.#fail(deviceId, record, errorCode(error) ?? String(error));
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
			onProblem(
				`The ${what} of ${deviceId} could not be kept on disk (${why}); it is tried again every second.`,
			);
		this.#retry ??= this.#retrySoon();
	}

	#retrySoon(): NodeJS.Timeout | undefined {
		if (this.#isClosed || this.#failed.size === 0) return undefined;
		return setTimeout(() => this.#writeFailed(), retryMs).unref();
	}

	/** Stops after a few failures, as of a full disk. */
	async #writeFailed(): Promise<void> {
		let failures = 0;
		for (const [deviceId, { record }] of [...this.#failed]) {
			// A later record was written or waits.
			if (this.#failed.get(deviceId)?.record !== record || this.#waiting.has(deviceId)) continue;
			if (!(await this.save(deviceId, record))) failures += 1;
			if (failures >= writersAtMost) break;
		}
		this.#retry = this.#retrySoon();
	}

	#parse(content: string, deviceId: string): T | undefined {
		try {
			return this.#options.parse(content, deviceId);
		} catch {
			return undefined;
		}
	}
}
