/** Disk whose operations a test observes, delays or fails. */

import fs, { type FileHandle } from "node:fs/promises";
import type { Disk } from "../../gateway/storage/atomic-file.js";

/** "create" opens a file for writing, "open" for reading. */
export type Operation =
	| "create"
	| "open"
	| "write"
	| "sync"
	| "rename"
	| "rm"
	| "readFile"
	| "readdir"
	| "stat"
	| "chown";

/** Error of a system call, such as ENOSPC. */
export function systemError(code: string): NodeJS.ErrnoException {
	return Object.assign(new Error(code), { code });
}

/**
 * @param before called before each operation, which waits for its promise and fails with its error. The path of a rename is its
 * target. A write has two steps: before it and after its first half
 */
export function diskWith(before: (operation: Operation, path: string) => void | Promise<void>): typeof fs {
	const watched = <F extends Disk[Exclude<keyof Disk, "constants">]>(
		operation: Operation,
		work: F,
		pathAt = 0,
	): F =>
		new Proxy(work, {
			apply: async (target, self, parameters: unknown[]) => {
				await before(operation, String(parameters[pathAt]));
				return Reflect.apply(target, self, parameters);
			},
		});
	const watchedHandle = (handle: FileHandle, path: string): FileHandle => {
		const writeFile = async (content: Uint8Array | string) => {
			const bytes = Buffer.from(content);
			const half = bytes.length >> 1;
			await before("write", path);
			await fs.writeFile(handle, bytes.subarray(0, half));
			await before("write", path);
			await fs.writeFile(handle, bytes.subarray(half));
		};
		// No test cuts the power.
		const sync = async () => before("sync", path);
		return new Proxy(handle, {
			get(target, name) {
				if (name === "writeFile") return writeFile;
				if (name === "sync") return sync;
				const value: unknown = Reflect.get(target, name, target);
				return typeof value === "function" ? value.bind(target) : value;
			},
		});
	};
	return {
		...fs,
		open: async (path, flags, mode) => {
			await before(flags === "wx" || flags === "a" ? "create" : "open", String(path));
			return watchedHandle(await fs.open(path, flags, mode), String(path));
		},
		rename: watched("rename", fs.rename, 1),
		rm: watched("rm", fs.rm),
		readFile: watched("readFile", fs.readFile),
		readdir: watched("readdir", fs.readdir),
		stat: watched("stat", fs.stat),
		chown: watched("chown", fs.chown),
	};
}

export const changes: readonly Operation[] = ["create", "write", "sync", "rename", "rm"];

/** @param before called before each operation that changes the disk, like that of `diskWith` */
export function changingDisk(before: (operation: Operation) => void): typeof fs {
	return diskWith((operation) => {
		if (changes.includes(operation)) before(operation);
	});
}

/** Disk on which this operation fails with this error code, on paths that contain `part`, while `isFailing`. */
export function failingDisk(operation: Operation, code: string, part = "") {
	const state = {
		isFailing: true,
		disk: diskWith((current, path) => {
			if (state.isFailing && current === operation && path.includes(part)) throw systemError(code);
		}),
	};
	return state;
}
