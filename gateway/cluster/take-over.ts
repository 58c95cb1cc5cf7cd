/** Moves what a gateway has stored in files, before it joined others, to where they have it in common: once. */

import { createReadStream } from "node:fs";
import { basename, join } from "node:path";
import type { Bucket } from "../bus.js";
import type { Disk } from "../storage/atomic-file.js";
import type { Files } from "../storage/blobs.js";
import { FileEngine } from "../storage/file-records.js";

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
	const isThere = await disk.stat(directory).then(
		(found) => found.isDirectory(),
		() => false,
	);
	if (!isThere) return;
	const texts: (readonly [string, string])[] = [];
	const engine = new FileEngine({ directory, disk, what: name, ...(isKey && { isKey }), onProblem });
	await engine.each((key, text) => texts.push([key, text]));
	// A cache of blobs stays.
	if (texts.length === 0) return;
	for (const file of await disk.readdir(directory)) {
		const [, sha256] = /^([0-9a-f]{64})\.(?!json$)/.exec(file) ?? [];
		if (sha256) await (await files()).put(sha256, createReadStream(join(directory, file)));
	}
	while (texts.length > 0)
		await Promise.all(texts.splice(0, writesAtOnce).map(([key, text]) => bucket.set(key, text, 0)));
	const moved = `${directory}-taken-over`;
	await disk.rm(moved, { recursive: true, force: true });
	await disk.rename(directory, moved);
	onProblem(`${basename(directory)}: the gateways have them in common now; ${moved} can be deleted.`);
}
