/** Moves what a gateway has stored in files, before it joined others, to where they have it in common: once. */

import { createReadStream } from "node:fs";
import { basename, join } from "node:path";
import type { Bucket } from "../bus.js";
import { type Disk, ifThere } from "../storage/atomic-file.js";
import type { Files } from "../storage/blobs.js";
import { FileLog } from "../storage/file-log.js";
import { FileEngine } from "../storage/file-records.js";
import type { Entry, Log } from "../storage/log.js";

export interface TakeOverOptions {
	readonly dataDir: string;
	readonly disk: Disk;
	/** Those of records; default: devices' ids. */
	readonly isKey: ((key: string) => boolean) | undefined;
	/** Of blobs that are in the same folder. */
	readonly files: () => Promise<Files>;
	readonly onProblem: (sentence: string) => void;
}

const writesAtOnce = 64;

/**
 * Writes the records of a folder to a bucket, where that has none of their key, after the blobs beside them, and renames the folder.
 * @param name of the folder, in the data folder
 * @throws {BusError} it is done again at the next start
 */
export async function takeOverRecords(
	{ dataDir, disk, isKey, files, onProblem }: TakeOverOptions,
	name: string,
	bucket: Bucket,
): Promise<void> {
	const directory = join(dataDir, name);
	if (!(await isFolder(disk, directory))) return;
	const texts: (readonly [string, string])[] = [];
	const engine = new FileEngine({ directory, disk, what: name, ...(isKey && { isKey }), onProblem });
	await engine.each((key, text) => text !== undefined && texts.push([key, text]));
	// A cache of blobs stays.
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
 * Appends the entries of a log in a folder to one that has none, and renames the folder.
 * @param name of the folder, in the data folder
 * @throws {BusError}
 */
export async function takeOverLog(
	{ dataDir, disk, onProblem }: Pick<TakeOverOptions, "dataDir" | "disk" | "onProblem">,
	name: string,
	log: Log,
): Promise<void> {
	const directory = join(dataDir, name);
	if (!(await isFolder(disk, directory)) || (await entriesOf(log)).length > 0) return;
	const latest = new Map<string, number>();
	for (const [key, { text }] of await entriesOf(new FileLog({ directory, disk, onProblem }))) {
		const revision = await log.append(key, text, latest.get(key) ?? 0);
		// Another gateway is first.
		if (revision === undefined) return;
		latest.set(key, revision);
	}
	await moveAway(disk, directory, onProblem);
}

async function entriesOf(log: Log): Promise<readonly (readonly [key: string, entry: Entry])[]> {
	let entries: readonly (readonly [string, Entry])[] = [];
	const onAll = (all: typeof entries) => {
		entries = all;
	};
	const stop = await log.read({ onAll, onEntry: () => {} });
	stop();
	return entries;
}

async function isFolder(disk: Disk, path: string): Promise<boolean> {
	return (await ifThere(disk.stat(path)))?.isDirectory() ?? false;
}

async function moveAway(
	disk: Disk,
	directory: string,
	onProblem: TakeOverOptions["onProblem"],
): Promise<void> {
	const moved = `${directory}-taken-over`;
	await disk.rm(moved, { recursive: true, force: true });
	await disk.rename(directory, moved);
	onProblem(`${basename(directory)}: the gateways have them in common now; ${moved} can be deleted.`);
}
