/** One-time migration of a gateway's local files to shared storage when it joins a cluster. */

import { createReadStream } from "node:fs";
import { basename, join } from "node:path";
import type { Bucket } from "../bus.js";
import { type Disk, ifExists } from "../storage/atomic-file.js";
import type { Files } from "../storage/blobs.js";
import { FileLog } from "../storage/file-log.js";
import { fileEngine } from "../storage/file-records.js";
import { type Entry, entriesOf, type Log } from "../storage/log.js";

export interface MigrationOptions {
	readonly dataDir: string;
	readonly disk: Disk;
	/** Whether a record key is valid. Default: device ids. */
	readonly isKey: ((key: string) => boolean) | undefined;
	/** Opens the store for blobs in the same folder. */
	readonly files: () => Promise<Files>;
	readonly onProblem: (sentence: string) => void;
}

const writesAtOnce = 64;

/**
 * Copies records missing in a bucket from a folder, after the blobs next to them, and renames the folder.
 * @param name folder within the data folder
 * @throws {BusError} The next start retries.
 */
export async function migrateRecords(
	{ dataDir, disk, isKey, files, onProblem }: MigrationOptions,
	name: string,
	bucket: Bucket,
): Promise<void> {
	const directory = join(dataDir, name);
	if (!(await isFolder(disk, directory))) return;
	const texts: (readonly [string, string])[] = [];
	const engine = fileEngine({ directory, disk, what: name, ...(isKey && { isKey }), onProblem });
	await engine.each((key, text) => text !== undefined && texts.push([key, text]));
	// Keep a folder that is only a cache of blobs.
	if (texts.length === 0) return;
	for (const file of await disk.readdir(directory)) {
		const [, sha256] = /^([0-9a-f]{64})\.(?!json$)/.exec(file) ?? [];
		if (sha256) await (await files()).put(sha256, createReadStream(join(directory, file)));
	}
	while (texts.length > 0)
		await Promise.all(texts.splice(0, writesAtOnce).map(([key, text]) => bucket.set(key, text, 0)));
	await moveAway(disk, directory, onProblem);
}

/**
 * Appends the keys in a folder that a shared log lacks, or has incompletely after a failure, and renames the folder.
 * @param name folder within the data folder
 * @throws {BusError}
 */
export async function migrateLog(
	{ dataDir, disk, onProblem }: Pick<MigrationOptions, "dataDir" | "disk" | "onProblem">,
	name: string,
	log: Log,
): Promise<void> {
	const directory = join(dataDir, name);
	if (!(await isFolder(disk, directory))) return;
	const shared = byKey(await entriesOf(log));
	const left: string[] = [];
	for (const [key, entries] of byKey(await entriesOf(new FileLog({ directory, disk, onProblem })))) {
		const known = shared.get(key) ?? [];
		let after: number | undefined = known.at(-1)?.revision ?? 0;
		// Another gateway has imported its own.
		if (known.some(({ text }, index) => text !== entries[index]?.text)) after = undefined;
		for (const { text } of entries.slice(known.length))
			if (after !== undefined) after = await log.append(key, text, after);
		if (after === undefined) left.push(key);
	}
	if (left.length === 0) return moveAway(disk, directory, onProblem);
	onProblem(`${directory} was not moved completely, as the cluster has these already: ${left.join(", ")}.`);
}

function byKey(entries: Awaited<ReturnType<typeof entriesOf>>): ReadonlyMap<string, readonly Entry[]> {
	const all = new Map<string, Entry[]>();
	for (const [key, entry] of entries) all.set(key, [...(all.get(key) ?? []), entry]);
	return all;
}

async function isFolder(disk: Disk, path: string): Promise<boolean> {
	return (await ifExists(disk.stat(path)))?.isDirectory() ?? false;
}

async function moveAway(
	disk: Disk,
	directory: string,
	onProblem: MigrationOptions["onProblem"],
): Promise<void> {
	const moved = `${directory}-taken-over`;
	await disk.rm(moved, { recursive: true, force: true });
	await disk.rename(directory, moved);
	onProblem(`${basename(directory)} was moved to the cluster. You can delete ${moved}.`);
}
