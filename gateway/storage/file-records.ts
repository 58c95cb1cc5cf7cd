/** Records as files, one per device, written atomically. A damaged file affects only one device. */

import type { Dirent } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../problem.js";
import { type Disk, isTemporary, kindOf, makeFolder, removeFile, writeFileAtomic } from "./atomic-file.js";
import { isDeviceId, type RecordEngine, type RecordOptions, Records } from "./records.js";

export interface FolderOptions extends Pick<RecordOptions<unknown>, "what" | "isKey" | "onProblem"> {
	/** Created if missing; used exclusively by this store. */
	readonly directory: string;
	readonly disk: Disk;
}

const maxReaders = 8;
/** Errors that concern a single file, while the folder is writable. */
const singleFileErrors: readonly string[] = ["EISDIR", "EEXIST", "ENOTEMPTY", "ERR_FS_EISDIR"];

export function fileRecords<T>(options: FolderOptions & Omit<RecordOptions<T>, "name">): Records<T> {
	return new Records({ ...options, engine: new FileEngine(options) });
}

export class FileEngine implements RecordEngine {
	readonly #options: FolderOptions;

	constructor(options: FolderOptions) {
		this.#options = options;
	}

	/** @throws {NodeJS.ErrnoException} if the folder cannot be used */
	async each(onText: (key: string, text: string | undefined) => void): Promise<void> {
		const { directory, disk, what, isKey = isDeviceId, onProblem } = this.#options;
		await makeFolder(disk, directory);
		const entries = (await disk.readdir(directory, { withFileTypes: true })).values();
		const read = async (entry: Dirent) => {
			const path = join(directory, entry.name);
			const [, key = ""] = /^(.+)\.json$/.exec(entry.name) ?? [];
			// Other files, such as a manual copy, are ignored.
			const isRecord = isKey(key);
			if (!isRecord && !isTemporary(entry.name)) return;
			try {
				const isFile = (await kindOf(disk, directory, entry)) === "file";
				if (isRecord && !isFile)
					onProblem(`${path} is not a regular file. Remove it, as the ${what} of ${key} cannot be stored.`);
				else if (isRecord) onText(key, await disk.readFile(path, "utf8"));
				else if (isFile) await disk.rm(path, { force: true });
			} catch (error) {
				if (isRecord) onText(key, undefined);
				onProblem(`${path} cannot be read or removed (${errorCode(error) ?? error}) and is ignored.`);
			}
		};
		const reader = async () => {
			for (const entry of entries) await read(entry);
		};
		await Promise.all(Array.from({ length: maxReaders }, reader));
	}

	read(key: string): Promise<string | undefined> {
		return this.#options.disk.readFile(this.locate(key), "utf8").catch(() => undefined);
	}

	async write(key: string, text: string | undefined): Promise<void> {
		const { disk } = this.#options;
		if (text === undefined) await removeFile(disk, this.locate(key));
		else await writeFileAtomic(disk, this.locate(key), text);
	}

	locate(key: string): string {
		return join(this.#options.directory, `${key}.json`);
	}

	problemOf(why: string): string | undefined {
		return singleFileErrors.includes(why)
			? undefined
			: `${this.#options.directory} cannot be written (${why}).`;
	}

	async close(): Promise<void> {}
}
