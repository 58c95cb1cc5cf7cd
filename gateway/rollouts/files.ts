/** The roll-outs of a gateway that is alone: a log in its data folder. */

import { join } from "node:path";
import { isRecord, matches } from "../../device/protocol/schema.js";
import { parseJson } from "../json.js";
import { ifThere, makeFolder, removeFile } from "../storage/atomic-file.js";
import { FileLog, type FileLogOptions } from "../storage/file-log.js";
import { rolloutId } from "./entries.js";
import { storedPlan } from "./plan.js";
import type { RolloutStore } from "./store.js";

/** @throws {NodeJS.ErrnoException} if the folder cannot be read */
export async function openInFiles(store: RolloutStore, options: FileLogOptions): Promise<void> {
	const log = new FileLog(options);
	await makeFolder(options.disk, options.directory);
	const { directory, disk, onProblem } = options;
	for (const entry of await disk.readdir(directory, { withFileTypes: true })) {
		if (!entry.isDirectory() || !matches(rolloutId, entry.name)) continue;
		await takeOverFolder(log, options, entry.name).catch((error: Error) => {
			onProblem(`${join(directory, entry.name)} cannot be taken over: ${error.message}`);
		});
	}
	await store.open(log);
}

/** Of an earlier release, which had a folder for each roll-out. */
async function takeOverFolder(log: FileLog, { directory, disk }: FileLogOptions, id: string): Promise<void> {
	const planFile = join(directory, id, "plan.json");
	const text = await ifThere(disk.readFile(planFile, "utf8"));
	if (text === undefined) return;
	const plan: unknown = JSON.parse(text);
	storedPlan(isRecord(plan) ? plan.plan : undefined);
	const lines = (await disk.readFile(join(directory, id, "steps.jsonl"), "utf8")).split("\n");
	const entries = [plan, ...lines.filter((line) => line !== "").map(entryOf)];
	if (!entries.some((entry) => isRecord(entry) && entry.head)) throw new Error("steps.jsonl is damaged.");
	// None is written if an earlier start did that, and could not remove the folder.
	await log.replace(
		id,
		entries.map((entry) => JSON.stringify(entry)),
		0,
	);
	await removeFile(disk, planFile);
	await disk.rm(join(directory, id), { recursive: true, force: true });
}

/** @returns what the store reports if the line is damaged */
function entryOf(line: string): unknown {
	const value = parseJson(line);
	if (!isRecord(value)) return line;
	return value.head ? { head: value.head, devices: [] } : { devices: [value.device] };
}
