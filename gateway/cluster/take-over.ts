/** Moves what a gateway has stored in files, before it joined others, to where they have it in common: once. */

import { basename, join } from "node:path";
import type { Bucket } from "../bus.js";
import type { Disk } from "../storage/atomic-file.js";
import { FileEngine } from "../storage/file-records.js";

export interface TakeOverOptions {
	readonly dataDir: string;
	readonly disk: Disk;
	readonly onProblem: (sentence: string) => void;
}

const writesAtOnce = 64;

/**
 * Writes the records of a folder to a bucket, where that has none of their key, and renames the folder.
 * @param name of the folder, in the data folder
 * @throws {BusError} it is done again at the next start
 */
export async function takeOverRecords(
	{ dataDir, disk, onProblem }: TakeOverOptions,
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
	const engine = new FileEngine({ directory, disk, what: name, onProblem });
	await engine.each((key, text) => texts.push([key, text]));
	while (texts.length > 0)
		await Promise.all(texts.splice(0, writesAtOnce).map(([key, text]) => bucket.set(key, text, 0)));
	const moved = `${directory}-taken-over`;
	await disk.rm(moved, { recursive: true, force: true });
	await disk.rename(directory, moved);
	onProblem(`${basename(directory)}: the gateways have them in common now; ${moved} can be deleted.`);
}
