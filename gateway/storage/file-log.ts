/** Log in a folder, for one process: each key has a file, in which each line is an entry with its revision. */

import type { Dirent } from "node:fs";
import { join } from "node:path";
import { percentDecoded } from "../api/text.js";
import { errorCode } from "../problem.js";
import { type Disk, ifExists, isTemporary, makeFolder, removeFile, writeFileAtomic } from "./atomic-file.js";
import type { Entry, Log, LogReader, Unsubscribe } from "./log.js";
import { Queue } from "./queue.js";

export interface FileLogOptions {
	/** Created if missing; used exclusively by this log. */
	readonly directory: string;
	readonly disk: Disk;
	readonly onProblem: (sentence: string) => void;
}

const suffix = ".jsonl";

export class FileLog implements Log {
	readonly #options: FileLogOptions;
	/** Revision of the latest entry by key, of the files read so far; 0: none. */
	readonly #latest = new Map<string, number>();
	/** Keys whose file may contain a partial line or a rejected entry, so that the next write rewrites the file. */
	readonly #damaged = new Set<string>();
	readonly #readers = new Set<LogReader>();
	/** Serializes operations. */
	readonly #queue = new Queue();

	constructor(options: FileLogOptions) {
		this.#options = options;
	}

	append(key: string, text: string, after: number): Promise<number | undefined> {
		return this.#change(key, async (latest) => {
			if (latest !== after) return undefined;
			const entry = { text, revision: latest + 1 };
			try {
				if (after > 0 && !this.#damaged.has(key)) await this.#appendLine(key, entry);
				else await this.#write(key, [...(await this.#readKey(key, after)).entries, entry]);
			} catch (error) {
				this.#damaged.add(key);
				throw error;
			}
			this.#latest.set(key, entry.revision);
			for (const reader of this.#readers)
				setImmediate(() => this.#readers.has(reader) && reader.onEntry(key, entry));
			return entry.revision;
		});
	}

	removeBefore(key: string, revision: number): Promise<void> {
		return this.#change(key, async (latest) => {
			const { entries } = await this.#readKey(key, latest);
			const remaining = entries.filter((entry) => entry.revision >= revision);
			await this.#write(key, remaining);
		});
	}

	replace(key: string, texts: readonly string[], after: number): Promise<number | undefined> {
		return this.#change(key, async (latest) => {
			if (latest !== after) return undefined;
			const entries = texts.map((text, index) => ({ text, revision: latest + 1 + index }));
			await this.#write(key, entries);
			return entries.at(-1)?.revision ?? 0;
		});
	}

	read(reader: LogReader): Promise<Unsubscribe> {
		return this.#queue.add(async () => {
			reader.onAll(await this.#readAll());
			this.#readers.add(reader);
			return () => void this.#readers.delete(reader);
		});
	}

	/** @throws {NodeJS.ErrnoException} if the folder cannot be read */
	async #readAll(): Promise<readonly (readonly [key: string, entry: Entry])[]> {
		const { directory, disk, onProblem } = this.#options;
		await makeFolder(disk, directory);
		const all: (readonly [string, Entry])[] = [];
		const read = async (file: Dirent) => {
			if (isTemporary(file.name)) return disk.rm(join(directory, file.name), { force: true });
			if (!file.name.endsWith(suffix)) return;
			const key = percentDecoded(file.name.slice(0, -suffix.length));
			// Other files, such as a manual copy, are ignored.
			if (key === undefined || fileOf(key) !== file.name) return;
			const { entries, damagedLines } = await this.#readKey(key, this.#latest.get(key));
			if (damagedLines > 0)
				onProblem(`${this.#pathOf(key)} has ${damagedLines} damaged lines, which are ignored.`);
			for (const entry of entries) all.push([key, entry]);
		};
		for (const file of await disk.readdir(directory, { withFileTypes: true }))
			await read(file).catch((error: unknown) => {
				const why = errorCode(error) ?? String(error);
				onProblem(`${join(directory, file.name)} cannot be read or removed (${why}) and is ignored.`);
			});
		return all;
	}

	/** @param latest revision of the last valid entry; later ones were rejected */
	async #readKey(key: string, latest = Number.POSITIVE_INFINITY) {
		const content = (await ifExists(this.#options.disk.readFile(this.#pathOf(key), "utf8"))) ?? "";
		const lines = content.split("\n").filter((line) => line !== "");
		const entries = lines.flatMap((line) => parseLine(line) ?? []);
		const damagedLines = lines.length - entries.length;
		if (damagedLines > 0 || !content.endsWith("\n")) this.#damaged.add(key);
		const valid = entries.filter(({ revision }) => revision <= latest);
		this.#latest.set(key, valid.at(-1)?.revision ?? 0);
		return { entries: valid, damagedLines };
	}

	async #appendLine(key: string, entry: Entry): Promise<void> {
		const file = await this.#options.disk.open(this.#pathOf(key), "a", 0o600);
		try {
			await file.writeFile(lineOf(entry));
			await file.sync();
		} finally {
			await file.close();
		}
	}

	/** Replaces a file atomically, or deletes it if there are no entries. */
	async #write(key: string, entries: readonly Entry[]): Promise<void> {
		const { disk } = this.#options;
		const latest = entries.at(-1);
		if (latest) await writeFileAtomic(disk, this.#pathOf(key), entries.map(lineOf).join(""));
		else await removeFile(disk, this.#pathOf(key));
		this.#damaged.delete(key);
		this.#latest.set(key, latest?.revision ?? 0);
	}

	/** Reads a file that does not exist or was unreadable before, and passes its entries to readers. */
	async #readLate(key: string): Promise<void> {
		await makeFolder(this.#options.disk, this.#options.directory);
		const { entries } = await this.#readKey(key);
		for (const reader of this.#readers) for (const entry of entries) reader.onEntry(key, entry);
	}

	#change<T>(key: string, work: (latest: number) => Promise<T>): Promise<T> {
		return this.#queue.add(async () => {
			if (!this.#latest.has(key)) await this.#readLate(key);
			return work(this.#latest.get(key) ?? 0);
		});
	}

	#pathOf(key: string): string {
		return join(this.#options.directory, fileOf(key));
	}
}

/** Returns the file name of a key. */
export function fileOf(key: string): string {
	return `${encodeURIComponent(key)}${suffix}`;
}

/** Returns the line of an entry. */
export function lineOf({ revision, text }: Entry): string {
	return `[${revision},${text}]\n`;
}

/** @returns undefined if the line is damaged */
function parseLine(line: string): Entry | undefined {
	const [, revision, text = ""] = /^\[(\d+),(.+)\]$/s.exec(line) ?? [];
	return revision === undefined ? undefined : { revision: Number(revision), text };
}
