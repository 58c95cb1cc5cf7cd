/**
 * Small records on disk, one file a device, each written whole, so that what is known of a device outlives the gateway
 * and a record that is damaged costs that device alone. Changes that come while a file is being written are written
 * together.
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

interface Waiting<T> {
	/** Undefined: the file is to be removed. */
	record: T | undefined;
	readonly done: Promise<void>;
	readonly finish: () => void;
}

export class RecordFolder<T> {
	readonly #options: RecordFolderOptions<T>;
	readonly #waiting = new Map<string, Waiting<T>>();
	readonly #writing = new Map<string, Promise<void>>();

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
		for (const name of await disk.readdir(directory)) {
			const path = join(directory, name);
			const deviceId = name.replace(/\.json$/, "");
			if (isTemporary(name)) await disk.rm(path, { force: true });
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
			return waiting.done;
		}
		let finish = () => {};
		const done = new Promise<void>((resolve) => {
			finish = resolve;
		});
		this.#waiting.set(deviceId, { record, done, finish });
		this.#writeNext();
		return done;
	}

	/** Forgets a device's record; see `save`. */
	remove(deviceId: string): Promise<void> {
		return this.save(deviceId, undefined);
	}

	/** Resolves once nothing is left to be written. */
	async settle(): Promise<void> {
		while (this.#writing.size > 0) await Promise.all(this.#writing.values());
	}

	#writeNext(): void {
		for (const [deviceId, { record, finish }] of this.#waiting) {
			if (this.#writing.size >= writersAtMost) return;
			if (this.#writing.has(deviceId)) continue;
			this.#waiting.delete(deviceId);
			const written = this.#write(deviceId, record).then(() => {
				this.#writing.delete(deviceId);
				finish();
				this.#writeNext();
			});
			this.#writing.set(deviceId, written);
		}
	}

	async #write(deviceId: string, record: T | undefined): Promise<void> {
		const { directory, disk, what, format, onProblem } = this.#options;
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
