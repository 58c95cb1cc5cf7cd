/**
 * Files that are there whole or not at all. A file written in place is half written for a moment, and a power cut in
 * that moment loses both the old content and the new.
 */

import { randomUUID } from "node:crypto";
import type * as fs from "node:fs/promises";
import { dirname } from "node:path";
import { errorCode } from "./start-error.js";

/** What the gateway asks of `node:fs/promises`; a test hands in one that fails. */
export type Disk = Pick<
	typeof fs,
	| "access"
	| "mkdir"
	| "open"
	| "readFile"
	| "readdir"
	| "readlink"
	| "realpath"
	| "rename"
	| "rm"
	| "stat"
	| "statfs"
	| "utimes"
	| "writeFile"
>;

/**
 * @returns the file's bytes, and what differs from before once it has been changed or replaced
 * @throws {NodeJS.ErrnoException} ENOENT
 */
export async function stateOf(disk: Disk, path: string): Promise<{ size: number; state: string }> {
	const { ino, size, mtimeNs, ctimeNs } = await disk.stat(path, { bigint: true });
	return { size: Number(size), state: [ino, size, mtimeNs, ctimeNs].join() };
}

/**
 * Makes a folder and those above it, as `mkdir -p` does. Step by step: Node's `recursive` never returns where the system
 * answers ENOENT though the folder above is there, such as below /proc.
 *
 * @throws {NodeJS.ErrnoException}
 */
export async function makeFolder(disk: Disk, path: string): Promise<void> {
	try {
		await disk.mkdir(path);
	} catch (error) {
		const isThere = (await disk.stat(path).catch(() => undefined))?.isDirectory();
		if (isThere) return;
		if (errorCode(error) !== "ENOENT" || dirname(path) === path) throw error;
		await makeFolder(disk, dirname(path));
		await disk.mkdir(path);
	}
}

/** @returns undefined where the file is missing */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
	try {
		return await work;
	} catch (error) {
		if (["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "")) return undefined;
		throw error;
	}
}

/** Whether a file was left behind half written. */
export function isTemporary(name: string): boolean {
	return name.endsWith(".tmp");
}

/**
 * A file that is not whole yet, beside its place at `path`; nobody takes it for that one.
 *
 * @param mode who may read it; by default its owner alone
 * @throws {NodeJS.ErrnoException} as each step of it may
 */
export async function openDraft(disk: Disk, path: string, mode = 0o600) {
	const temporary = `${path}.${randomUUID()}.tmp`;
	const handle = await disk.open(temporary, "wx", mode);
	return {
		write: (content: string | Uint8Array): Promise<void> => handle.writeFile(content),
		/** All that was written to it. */
		read: (): Promise<Buffer> => disk.readFile(temporary),
		/** Gives it its final name, in the same folder. Whoever reads that sees the old file or this one, also after a power cut. */
		moveTo: async (final: string): Promise<void> => {
			await handle.sync();
			await handle.close();
			await disk.rename(temporary, final);
			await syncDirectory(disk, dirname(final));
		},
		/** Leaves no trace of it; also after a failed step. */
		discard: async (): Promise<void> => {
			await handle.close();
			await disk.rm(temporary, { force: true });
		},
	};
}

export type Draft = Awaited<ReturnType<typeof openDraft>>;

/**
 * Replaces a file's content. Whoever reads it sees the old or the new one, also after a power cut.
 *
 * @param mode who may read it; by default its owner alone
 * @throws {NodeJS.ErrnoException} the former content is still there then
 */
export async function writeWhole(
	disk: Disk,
	path: string,
	content: string | Uint8Array,
	mode?: number,
): Promise<void> {
	const draft = await openDraft(disk, path, mode);
	try {
		await draft.write(content);
		await draft.moveTo(path);
	} catch (error) {
		await draft.discard();
		throw error;
	}
}

/** Removes a file, durably; without effect where there is none. */
export async function removeFile(disk: Disk, path: string): Promise<void> {
	await disk.rm(path, { force: true });
	await syncDirectory(disk, dirname(path));
}

async function syncDirectory(disk: Disk, path: string): Promise<void> {
	const directory = await disk.open(path, "r");
	try {
		await directory.sync();
	} catch (error) {
		// Some network file systems cannot sync a directory.
		if (!["EINVAL", "EISDIR", "ENOTSUP", "EPERM"].includes(errorCode(error) ?? "")) throw error;
	} finally {
		await directory.close();
	}
}
