/** Atomic file writes: a power cut during a write in place would lose the old and the new content. */

import { createHash, randomUUID } from "node:crypto";
import type { Dirent, Stats } from "node:fs";
import type * as fs from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errorCode } from "../problem.js";

/** The used part of `node:fs/promises`. */
export type Disk = Pick<
	typeof fs,
	| "access"
	| "chown"
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

const folderMode = 0o700;

/** @returns size in bytes, and a string that differs after a change @throws {NodeJS.ErrnoException} ENOENT */
export async function stateOf(disk: Disk, path: string): Promise<{ size: number; state: string }> {
	const { ino, size, mtimeNs, ctimeNs } = await disk.stat(path, { bigint: true });
	return { size: Number(size), state: [ino, size, mtimeNs, ctimeNs].join() };
}

/** @param stats of `path` @throws {Error} if a read could block, as of a named pipe */
export function requireRegularFile(stats: Pick<Stats, "isFile" | "isDirectory">, path: string): void {
	// A folder fails with the system's error.
	if (stats.isFile() || stats.isDirectory()) return;
	const code = `${basename(path)} is not a regular file`;
	throw Object.assign(new Error(`${path} is not a regular file`), { code });
}

/**
 * A disk whose `readFile` refuses all but regular files, and on which what lies behind a broken link is no missing file: a volume
 * that is not mounted for a moment must not look like a first start.
 */
export function strictDisk(disk: Disk): Disk {
	const stat = new Proxy(disk.stat, {
		apply: async (target, self, words: unknown[]) => {
			try {
				return await Reflect.apply(target, self, words);
			} catch (error) {
				if (errorCode(error) === "ENOENT") await refuseBrokenLink(disk, String(words[0]));
				throw error;
			}
		},
	});
	const readFile = new Proxy(disk.readFile, {
		apply: async (target, self, words: unknown[]) => {
			const path = String(words[0]);
			requireRegularFile(await stat(path), path);
			return Reflect.apply(target, self, words);
		},
	});
	return { ...disk, readFile, stat };
}

/** @throws {Error} if a missing file, or a folder that it is in, is a link whose target is missing */
async function refuseBrokenLink(disk: Disk, path: string): Promise<void> {
	for (let each = path; ; each = dirname(each)) {
		if (await disk.stat(each).catch(() => undefined)) return;
		const target = await disk.readlink(each).catch(() => undefined);
		const code = `${basename(each)} is a link to ${target}, which is missing`;
		if (target !== undefined) throw Object.assign(new Error(code), { code });
		if (dirname(each) === each) return;
	}
}

/**
 * `mkdir -p`, for its owner alone. Node's `recursive` never returns where the system answers ENOENT although the
 * parent exists, as below /proc.
 */
export async function makeFolder(disk: Disk, path: string): Promise<void> {
	try {
		await disk.mkdir(path, folderMode);
	} catch (error) {
		const isThere = (await ifThere(disk.stat(path)))?.isDirectory();
		if (isThere) return;
		if (errorCode(error) !== "ENOENT" || dirname(path) === path) throw error;
		await makeFolder(disk, dirname(path));
		await disk.mkdir(path, folderMode);
	}
}

/** Whether a folder's entry is a file or a folder; a link counts as its target. @throws {Error} if that is missing */
export async function kindOf(
	disk: Disk,
	folder: string,
	entry: Dirent,
): Promise<"file" | "folder" | "other"> {
	const found = entry.isSymbolicLink() ? await disk.stat(join(folder, entry.name)) : entry;
	if (found.isFile()) return "file";
	return found.isDirectory() ? "folder" : "other";
}

/** @returns undefined if the file is missing */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
	try {
		return await work;
	} catch (error) {
		if (["ENOENT", "ENOTDIR"].includes(errorCode(error) ?? "")) return undefined;
		throw error;
	}
}

export function isTemporary(name: string): boolean {
	return name.endsWith(".tmp");
}

/** Opens a temporary file beside `path`. @param mode default: for its owner alone */
export async function openDraft(disk: Disk, path: string, mode = 0o600) {
	const temporary = `${path}.${randomUUID()}.tmp`;
	const handle = await disk.open(temporary, "wx", mode);
	return {
		write: (content: string | Uint8Array): Promise<void> => handle.writeFile(content),
		/** Within its folder. A reader sees the old file or this one, even after a power cut. */
		moveTo: async (final: string): Promise<void> => {
			await handle.sync();
			await handle.close();
			await disk.rename(temporary, final);
			await syncDirectory(disk, dirname(final));
		},
		/** Removes it, also after a failed step. */
		discard: async (): Promise<void> => {
			await handle.close();
			await disk.rm(temporary, { force: true });
		},
	};
}

export type Draft = Awaited<ReturnType<typeof openDraft>>;

/** @param sha256 of the content, in hex @throws {Error} if it does not match, or what reading it throws */
export async function fillDraft(
	draft: Draft,
	content: AsyncIterable<Uint8Array>,
	sha256: string,
): Promise<void> {
	const hash = createHash("sha256");
	for await (const chunk of content) {
		hash.update(chunk);
		await draft.write(chunk);
	}
	if (hash.digest("hex") !== sha256) throw new Error(`${sha256} has another content`);
}

/**
 * Atomic and durable. @param mode default: for its owner alone @throws {NodeJS.ErrnoException} the old content is
 * kept
 */
export async function writeFileAtomic(
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

/** Durable; no effect if the file is missing. */
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
