/**
 * Disk that can be full, read-only, broken, slow, or out of file descriptors. Only the errors are simulated:
 * successful operations use the real disk.
 */

import fs, { type FileHandle } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { type Disk, isTemporary } from "../../gateway/storage/atomic-file.js";

export interface DiskFault {
	readonly kind: "full" | "read-only" | "too many files" | "broken" | "slow";
	/** Every n-th such operation fails; 1: all of them. */
	readonly every: number;
	/** Delay of each write in ms, for "slow". */
	readonly delayMs: number;
}

const codes = { full: "ENOSPC", "read-only": "EROFS", "too many files": "EMFILE", broken: "EIO" } as const;
type Operation = "create" | "read" | "write" | "sync" | "rename" | "remove";
/** Operations that fail with a fault. */
const fails: Readonly<Record<DiskFault["kind"], readonly Operation[]>> = {
	full: ["write"],
	"read-only": ["create", "rename", "remove"],
	"too many files": ["create", "read"],
	broken: ["create", "read", "write", "sync", "rename", "remove"],
	slow: [],
};

export class FailingDisk {
	/** undefined: no fault. */
	fault: DiskFault | undefined;
	#count = 0;

	/** Disk for a gateway. */
	readonly disk: Disk = {
		...fs,
		open: async (path, flags, mode) => {
			const isWrite = typeof flags === "string" && flags !== "r";
			await this.#step(isWrite ? "create" : "read", path);
			const handle = await fs.open(path, flags, mode);
			return isWrite ? this.#watch(handle) : handle;
		},
		readFile: this.#guarded("read", fs.readFile),
		readdir: this.#guarded("read", fs.readdir),
		mkdir: this.#guarded("create", fs.mkdir),
		writeFile: this.#guarded("create", fs.writeFile),
		rename: this.#guarded("rename", fs.rename),
		rm: this.#guarded("remove", fs.rm),
	};

	#guarded<F extends Disk[keyof Disk]>(operation: Operation, work: F): F {
		return new Proxy(work, {
			apply: async (target, self, parameters: unknown[]) => {
				await this.#step(operation, parameters[0]);
				return Reflect.apply(target, self, parameters);
			},
		});
	}

	/** Makes a file fail that is already open for writing. */
	#watch(handle: FileHandle): FileHandle {
		const writeFile = async (content: string | Uint8Array) => {
			const bytes = Buffer.from(content);
			const half = bytes.length >> 1;
			await fs.writeFile(handle, bytes.subarray(0, half));
			await this.#step("write");
			await fs.writeFile(handle, bytes.subarray(half));
		};
		const sync = async () => {
			await this.#step("sync");
			await handle.sync();
		};
		return new Proxy(handle, {
			get: (target, name) => {
				if (name === "writeFile") return writeFile;
				if (name === "sync") return sync;
				const value: unknown = Reflect.get(target, name, target);
				return typeof value === "function" ? value.bind(target) : value;
			},
		});
	}

	/** @throws {NodeJS.ErrnoException} if the current fault makes this step fail */
	async #step(operation: Operation, path?: unknown): Promise<void> {
		const { fault } = this;
		if (!fault) return;
		if (fault.kind === "slow") {
			if (operation !== "read") await pause(fault.delayMs);
			return;
		}
		// Temporary files can be renamed and removed: otherwise the gateway could not avoid leftovers.
		const isDraft = isTemporary(String(path ?? ""));
		if (isDraft && (operation === "rename" || operation === "remove")) return;
		// Not on the disk.
		if (String(path).startsWith("/proc/") || !fails[fault.kind].includes(operation)) return;
		this.#count += 1;
		if (this.#count % fault.every !== 0) return;
		const code = codes[fault.kind];
		throw Object.assign(new Error(`${code}: ${operation} ${String(path)}`), { code });
	}
}
