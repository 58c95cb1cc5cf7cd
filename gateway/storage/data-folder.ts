/** Checks and locks the data folder, as two gateways would overwrite each other's files. */

import { constants } from "node:fs";
import { join } from "node:path";
import { errorCode, StartError } from "../problem.js";
import { type Disk, makeFolder } from "./atomic-file.js";
import { FileLock } from "./file-lock.js";

export interface FolderLockOptions {
	/** Created if missing. */
	readonly directory: string;
	readonly disk: Disk;
	/** Called when another process has taken over the lock. */
	readonly onLost: (sentence: string) => void;
	/** Called if the lock cannot be written, so that the gateway runs without it. */
	readonly onProblem: (sentence: string) => void;
	/** Interval of renewals. Default: 1000. */
	readonly renewMs?: number;
}

/**
 * Locks the data folder.
 * @returns function that releases the lock
 * @throws {StartError} if another process holds the folder @throws {NodeJS.ErrnoException}
 */
export async function lockFolder(options: FolderLockOptions): Promise<() => Promise<void>> {
	const { directory, disk, renewMs, onLost, onProblem } = options;
	const path = join(directory, "gateway.lock");
	const rejectionBy = (by: string) =>
		new StartError(
			`DATA_DIR "${directory}" is in use by ${by}. Stop it, or set DATA_DIR to another folder. If no gateway uses it any more, remove ${path}.`,
		);
	const lock = new FileLock({
		path,
		disk,
		renewMs,
		onLost: (by) => onLost(rejectionBy(by).message),
		onUnwritable: (code) =>
			onProblem(`${path} cannot be written (${code}). Make sure that no other gateway uses the folder.`),
	});
	await makeFolder(disk, directory);
	const by = await lock.acquire();
	if (by !== undefined) throw rejectionBy(by);
	return () => lock.release();
}

/** Awaits work on the data folder. @throws {StartError} if a file operation failed */
export async function explainFolderErrors<T>(dataDir: string, work: Promise<T>): Promise<T> {
	try {
		return await work;
	} catch (error) {
		const code = errorCode(error);
		if (code === undefined) throw error;
		throw new StartError(`Cannot use DATA_DIR "${dataDir}" (${code}). Set it to a folder of its own.`);
	}
}

/** @returns problem of the data folder; undefined if it can be written */
export async function findDiskProblem(disk: Disk, dataDir: string): Promise<string | undefined> {
	try {
		await disk.access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
		const { bavail } = await disk.statfs(dataDir);
		return bavail > 0 ? undefined : "The data folder's disk is full.";
	} catch (error) {
		return `The data folder cannot be used (${errorCode(error)}).`;
	}
}
