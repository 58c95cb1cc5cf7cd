/**
 * Small records on disk, one file a device, each written whole, so that what is known of a device outlives the gateway
 * and a record that is damaged costs that device alone. Changes that wait to be written are written together.
 */

import { join } from "node:path";
import { deviceId as deviceIdSchema } from "../device/protocol/messages.js";
import { matches } from "../device/protocol/schema.js";
import { errorCode } from "./start-error.js";
import { type Disk, isTemporary, removeFile, writeWhole } from "./whole-file.js";

export interface RecordFolderOptions<T> {
	/** Belongs to these records alone; made where it is missing. */
	readonly directory: string;
	readonly disk: Disk;
	/** What is in them, in the plural, for a sentence about them. */
	readonly what: string;
	/** The content of a file. */
	readonly format: (record: T) => string;
	/** Throws, or returns undefined, where a file's content cannot be understood. */
	readonly parse: (content: string, deviceId: string) => T | undefined;
	readonly onProblem: (sentence: string) => void;
}

const writersAtMost = 8;

export class RecordFolder<T> {
	readonly #options: RecordFolderOptions<T>;
	/** What is to be written; a record that is undefined is to be removed. */
	readonly #waiting = new Map<string, { record: T | undefined; readonly written: Promise<void> }>();
	/** The latest task of each writer. A device has one writer, so that its changes are written in their order. */
	readonly #writers = Array.from({ length: writersAtMost }, () => Promise.resolve());

	constructor(options: RecordFolderOptions<T>) {
		this.#options = options;
	}

	/**
	 * What the last run left; a file that cannot be understood is reported and left out.
	 *
	 * @returns each device's record by its id
	 * @throws {NodeJS.ErrnoException} where the folder cannot be read or written
	 */
	async load(): Promise<Map<string, T>> {
		const { directory, disk, onProblem } = this.#options;
		await disk.mkdir(directory, { recursive: true });
		const records = new Map<string, T>();
		for (const entry of await disk.readdir(directory, { withFileTypes: true })) {
			const path = join(directory, entry.name);
			// What a person put there, such as a copy or a folder, is none of ours.
			const [, deviceId] = (entry.isFile() && /^(.+)\.json$/.exec(entry.name)) || [];
			if (isTemporary(entry.name)) await disk.rm(path, { force: true });
			else if (matches(deviceIdSchema, deviceId)) {
				const record = this.#parse(await disk.readFile(path, "utf8"), deviceId);
				if (record !== undefined) records.set(deviceId, record);
				else onProblem(`${path} is damaged; the ${this.#options.what} of this device are lost.`);
			}
		}
		return records;
	}

	/**
	 * Keeps a device's record.
	 *
	 * @param record undefined: forgets it
	 * @returns once it is on disk, or gone from there, or that was reported as impossible
	 */
	save(deviceId: string, record: T | undefined): Promise<void> {
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

	/** Forgets a device's record; see `save`. */
	remove(deviceId: string): Promise<void> {
		return this.save(deviceId, undefined);
	}

	/** Resolves once nothing is left to be written. */
	async settle(): Promise<void> {
		const writers = [...this.#writers];
		await Promise.all(writers);
		if (writers.some((latest, writer) => latest !== this.#writers[writer])) await this.settle();
	}

	async #write(deviceId: string): Promise<void> {
		const { directory, disk, what, format, onProblem } = this.#options;
		const record = this.#waiting.get(deviceId)?.record;
		this.#waiting.delete(deviceId);
		const path = join(directory, `${deviceId}.json`);
		try {
			if (record === undefined) await removeFile(disk, path);
			else await writeWhole(disk, path, format(record));
		} catch (error) {
			onProblem(`The ${what} of ${deviceId} could not be kept on disk (${errorCode(error) ?? error}).`);
		}
	}

	#parse(content: string, deviceId: string): T | undefined {
		try {
			return this.#options.parse(content, deviceId);
		} catch {
			return undefined;
		}
	}
}
