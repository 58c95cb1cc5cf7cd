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
	return new Records({ ...options, engine: fileEngine(options) });
}

export function fileEngine({
	directory,
	disk,
	what,
	isKey = isDeviceId,
	onProblem,
}: FolderOptions): RecordEngine {
	const locate = (key: string) => join(directory, `${key}.json`);
	return {
		/** @throws {NodeJS.ErrnoException} if the folder cannot be used */
		each: async (onText) => {
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
		},
		read: (key) => disk.readFile(locate(key), "utf8").catch(() => undefined),
		write: (key, text) =>
			text === undefined ? removeFile(disk, locate(key)) : writeFileAtomic(disk, locate(key), text),
		locate,
		problemOf: (why) =>
			singleFileErrors.includes(why) ? undefined : `${directory} cannot be written (${why}).`,
	};
}
