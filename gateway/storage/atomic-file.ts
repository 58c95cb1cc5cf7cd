/** Atomic file writes. A power failure while a file is overwritten would destroy the old and the new content. */

import { randomUUID } from "node:crypto";
import type { Dirent, Stats } from "node:fs";
import type * as fs from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorCode } from "../problem.js";

/** File operations of `node:fs/promises`, or of a test. */
export type Disk = typeof fs;

const folderMode = 0o700;

/** @returns string that changes with the file @throws {NodeJS.ErrnoException} ENOENT */
export async function stateOf(disk: Disk, path: string): Promise<string> {
	const { ino, size, mtimeNs, ctimeNs } = await disk.stat(path, { bigint: true });
	return [ino, size, mtimeNs, ctimeNs].join();
}

/** @param stats stats of `path` @throws {Error} if reading could block, as with a named pipe */
export function requireRegularFile(stats: Pick<Stats, "isFile" | "isDirectory">, path: string): void {
	// Reading a folder fails with EISDIR.
	if (stats.isFile() || stats.isDirectory()) return;
	const code = `${basename(path)} is not a regular file`;
	throw Object.assign(new Error(`${path} is not a regular file`), { code });
}

/**
 * Returns a disk whose `readFile` rejects all but regular files, and which does not treat a broken symbolic link as a missing file,
 * so that an unmounted volume is not mistaken for a first start.
 */
export function strictDisk(disk: Disk): Disk {
	const stat = new Proxy(disk.stat, {
		apply: async (target, self, args: unknown[]) => {
			try {
				return await Reflect.apply(target, self, args);
			} catch (error) {
				if (errorCode(error) === "ENOENT") await rejectBrokenLink(disk, String(args[0]));
				throw error;
			}
		},
	});
	const readFile = new Proxy(disk.readFile, {
		apply: async (target, self, args: unknown[]) => {
			const path = String(args[0]);
			requireRegularFile(await stat(path), path);
			return Reflect.apply(target, self, args);
		},
	});
	return { ...disk, readFile, stat };
}

/** @throws {Error} if a missing file, or one of its parent folders, is a symbolic link without a target */
async function rejectBrokenLink(disk: Disk, path: string): Promise<void> {
	for (let ancestor = path; ; ancestor = dirname(ancestor)) {
		if (await disk.stat(ancestor).catch(() => undefined)) return;
		const target = await disk.readlink(ancestor).catch(() => undefined);
		const code = `${basename(ancestor)} is a link to ${target}, which is missing`;
		if (target !== undefined) throw Object.assign(new Error(code), { code });
		if (dirname(ancestor) === ancestor) return;
	}
}

/**
 * Creates a folder and its parents with mode 0700. Node's option `recursive` never returns where the system reports ENOENT
 * although the parent exists, such as below /proc.
 */
export async function makeFolder(disk: Disk, path: string): Promise<void> {
	try {
		await disk.mkdir(path, folderMode);
	} catch (error) {
		const exists = (await ifExists(disk.stat(path)))?.isDirectory();
		if (exists) return;
		if (errorCode(error) !== "ENOENT" || dirname(path) === path) throw error;
		await makeFolder(disk, dirname(path));
		await disk.mkdir(path, folderMode);
	}
}

/** Returns the type of a folder's entry, resolving a symbolic link. @throws {Error} if its target is missing */
export async function kindOf(
	disk: Disk,
	folder: string,
	entry: Dirent,
): Promise<"file" | "folder" | "other"> {
	const found = entry.isSymbolicLink() ? await disk.stat(join(folder, entry.name)) : entry;
	if (found.isFile()) return "file";
	return found.isDirectory() ? "folder" : "other";
}

/** Awaits a file operation. @returns undefined if the file is missing */
export async function ifExists<T>(work: Promise<T>): Promise<T | undefined> {
	try {
		return await work;
	} catch (error) {
		if (["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "")) return undefined;
		throw error;
	}
}

/** Whether a file is a draft or a lock. */
export function isTemporary(name: string): boolean {
	return name.endsWith(".tmp") || name.endsWith(".lock");
}

/** Opens a temporary file in the folder of `path`. */
export async function openDraft(disk: Disk, path: string, mode = 0o600) {
	const temporary = `${path}.${randomUUID()}.tmp`;
	const handle = await disk.open(temporary, "wx", mode);
	return {
		write: (content: string | Uint8Array): Promise<void> => handle.writeFile(content),
		/** Renames the file within its folder. Readers see the old or the new file, even after a power failure. */
		moveTo: async (final: string): Promise<void> => {
			await handle.sync();
			await handle.close();
			await disk.rename(temporary, final);
			await syncDirectory(disk, dirname(final));
		},
		/** Deletes the temporary file, also after a failed step. */
		discard: async (): Promise<void> => {
			await handle.close();
			await disk.rm(temporary, { force: true });
		},
	};
}

/**
 * Replaces a file atomically and durably.
 * @param mode default: 0600
 * @throws {NodeJS.ErrnoException} or an error of `content`, in which case the old content is preserved
 */
export async function writeFileAtomic(
	disk: Disk,
	path: string,
	content: string | Uint8Array | AsyncIterable<Uint8Array>,
	mode?: number,
): Promise<void> {
	const draft = await openDraft(disk, path, mode);
	const chunks = typeof content === "string" || content instanceof Uint8Array ? [content] : content;
	try {
		for await (const chunk of chunks) await draft.write(chunk);
		await draft.moveTo(path);
	} catch (error) {
		await draft.discard();
		throw error;
	}
}

/** Deletes a file durably, if it exists. */
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
