/**
 * Files that are there whole or not at all. A file written in place is half written for a moment, and a power cut in
 * that moment loses both the old content and the new.
 */

import { randomUUID } from "node:crypto";
import type * as fs from "node:fs/promises";
import { dirname } from "node:path";
import { errorCode } from "../start-error.js";

/** What this room asks of `node:fs/promises`; a test hands in one that fails. */
export type Disk = Pick<
	typeof fs,
	"mkdir" | "open" | "readFile" | "readdir" | "realpath" | "rename" | "rm" | "stat"
>;

/** A name beside `path` for a file that is not whole yet. */
export function temporaryName(path: string): string {
	return `${path}.${randomUUID()}.tmp`;
}

/** Whether a file was left behind half written. */
export function isTemporary(name: string): boolean {
	return name.endsWith(".tmp");
}

/**
 * Replaces a file's content. Whoever reads it sees the old or the new one, also after a power cut.
 *
 * @throws {NodeJS.ErrnoException} the former content is still there then
 */
export async function writeWhole(disk: Disk, path: string, content: string): Promise<void> {
	const temporary = temporaryName(path);
	try {
		const handle = await disk.open(temporary, "wx", 0o600);
		try {
			await handle.writeFile(content);
			await handle.sync();
		} finally {
			await handle.close();
		}
		await moveInto(disk, temporary, path);
	} catch (error) {
		await disk.rm(temporary, { force: true });
		throw error;
	}
}

/** Gives a synced file its final name, durably. */
export async function moveInto(disk: Disk, from: string, to: string): Promise<void> {
	await disk.rename(from, to);
	const directory = await disk.open(dirname(to), "r");
	try {
		await directory.sync();
	} catch (error) {
		if (!isUnsupported(error)) throw error;
	} finally {
		await directory.close();
	}
}

/** Some network file systems cannot sync a directory. */
function isUnsupported(error: unknown): boolean {
	return ["EINVAL", "EISDIR", "ENOTSUP", "EPERM"].includes(errorCode(error) ?? "");
}
