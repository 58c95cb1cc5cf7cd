/** A log in a folder: a file for each key, in which each entry is a line with its revision. One process may use it. */

import type { Dirent } from "node:fs";
import { join } from "node:path";
import { percentDecoded } from "../api/text.js";
import { errorCode } from "../problem.js";
import { type Disk, ifThere, isTemporary, makeFolder, removeFile, writeFileAtomic } from "./atomic-file.js";
import type { Entry, Log, LogReader, Unsubscribe } from "./log.js";
import { Queue } from "./queue.js";

export interface FileLogOptions {
	/** Made if it is missing; used by this log alone. */
	readonly directory: string;
	readonly disk: Disk;
	readonly onProblem: (sentence: string) => void;
}

const suffix = ".jsonl";

export class FileLog implements Log {
	readonly #options: FileLogOptions;
	/** By key: the revision of its latest entry. */
	readonly #latest = new Map<string, number>();
	#revision = 0;
	#isRead = false;
	/** Keys whose file may have a part of a line, or an entry that was refused: they are written whole. */
	readonly #damaged = new Set<string>();
	/** Keys whose file could not be read at first: it is read before anything is written to it. */
	readonly #unread = new Set<string>();
	readonly #readers = new Set<LogReader>();
	/** One operation is done after the other. */
	readonly #queue = new Queue();

	constructor(options: FileLogOptions) {
		this.#options = options;
	}

	append(key: string, text: string, after: number): Promise<number | undefined> {
		return this.#change(key, async (latest) => {
			if (latest !== after) return undefined;
			this.#revision += 1;
			const entry = { text, revision: this.#revision };
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
			const kept = entries.filter((entry) => entry.revision >= revision);
			await this.#write(key, kept);
		});
	}

	replace(key: string, texts: readonly string[], after: number): Promise<number | undefined> {
		return this.#change(key, async (latest) => {
			if (latest !== after) return undefined;
			const entries = texts.map((text, index) => ({ text, revision: this.#revision + 1 + index }));
			this.#revision += texts.length;
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
			// A person's files, such as a copy, are left alone.
			if (key === undefined || fileOf(key) !== file.name) return;
			this.#unread.add(key);
			const { entries, damagedLines } = await this.#readKey(key, this.#latest.get(key));
			this.#unread.delete(key);
			const latest = entries.at(-1)?.revision ?? 0;
			if (damagedLines > 0)
				onProblem(`${this.#pathOf(key)} has ${damagedLines} damaged lines, which are left out.`);
			this.#latest.set(key, latest);
			this.#revision = Math.max(this.#revision, latest);
			for (const entry of entries) all.push([key, entry]);
		};
		for (const file of await disk.readdir(directory, { withFileTypes: true }))
			await read(file).catch((error: unknown) => {
				const why = errorCode(error) ?? String(error);
				onProblem(`${join(directory, file.name)} cannot be read or removed (${why}); it is left out.`);
			});
		this.#isRead = true;
		return all.sort(([, a], [, b]) => a.revision - b.revision);
	}

	/** Its entries are new to readers. @throws {NodeJS.ErrnoException} if it still cannot be read */
	async #readLate(key: string): Promise<void> {
		const { entries } = await this.#readKey(key);
		this.#unread.delete(key);
		const latest = entries.at(-1)?.revision ?? 0;
		this.#latest.set(key, latest);
		this.#revision = Math.max(this.#revision, latest);
		for (const reader of this.#readers) for (const entry of entries) reader.onEntry(key, entry);
	}

	/** @param latest entries after it were refused */
	async #readKey(key: string, latest = Number.POSITIVE_INFINITY) {
		const content = (await ifThere(this.#options.disk.readFile(this.#pathOf(key), "utf8"))) ?? "";
		const lines = content.split("\n").filter((line) => line !== "");
		const entries = lines.flatMap((line) => parseLine(line) ?? []);
		const damagedLines = lines.length - entries.length;
		if (damagedLines > 0 || !content.endsWith("\n")) this.#damaged.add(key);
		return { entries: entries.filter(({ revision }) => revision <= latest), damagedLines };
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

	/** Atomic; without entries the file is removed. */
	async #write(key: string, entries: readonly Entry[]): Promise<void> {
		const { disk } = this.#options;
		const latest = entries.at(-1);
		if (latest) await writeFileAtomic(disk, this.#pathOf(key), entries.map(lineOf).join(""));
		else await removeFile(disk, this.#pathOf(key));
		this.#damaged.delete(key);
		if (latest) this.#latest.set(key, latest.revision);
		else this.#latest.delete(key);
	}

	#change<T>(key: string, work: (latest: number) => Promise<T>): Promise<T> {
		return this.#queue.add(async () => {
			if (!this.#isRead) await this.#readAll();
			if (this.#unread.has(key)) await this.#readLate(key);
			return work(this.#latest.get(key) ?? 0);
		});
	}

	#pathOf(key: string): string {
		return join(this.#options.directory, fileOf(key));
	}
}

/** @returns the name of its file */
export function fileOf(key: string): string {
	return `${encodeURIComponent(key)}${suffix}`;
}

/** @returns its line in the file */
export function lineOf({ revision, text }: Entry): string {
	return `[${revision},${text}]\n`;
}

/** @returns undefined if the line is damaged */
function parseLine(line: string): Entry | undefined {
	const [, revision, text = ""] = /^\[(\d+),(.+)\]$/s.exec(line) ?? [];
	return revision === undefined ? undefined : { revision: Number(revision), text };
}
