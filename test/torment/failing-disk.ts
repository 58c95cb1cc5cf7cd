/**
 * Disk that can be full, read-only, broken, slow, or out of file descriptors. Only the errors are simulated:
 * successful operations use the real disk.
 */

import { setTimeout as pause } from "node:timers/promises";
import { type Disk, isTemporary } from "../../gateway/storage/atomic-file.js";
import { changes, diskWith, type Operation, systemError } from "../support/disk.js";

export interface DiskFault {
	readonly kind: "full" | "read-only" | "too many files" | "broken" | "slow";
	/** Every n-th such operation fails; 1: all of them. */
	readonly every: number;
	/** Delay of each write in ms, for "slow". */
	readonly delayMs: number;
}

const reads = ["open", "readFile", "readdir"] as const;
/** Error code and operations of a fault, without a delay. Temporary files can be renamed: otherwise all writes would fail. */
const faults: Readonly<Record<DiskFault["kind"], readonly [code: string, fails: readonly Operation[]]>> = {
	full: ["ENOSPC", ["write"]],
	"read-only": ["EROFS", ["create", "rm"]],
	"too many files": ["EMFILE", ["create", ...reads]],
	broken: ["EIO", ["create", ...reads, "write", "sync", "rm"]],
	slow: ["", []],
};

export class FailingDisk {
	/** undefined: no fault. */
	fault: DiskFault | undefined;
	#count = 0;

	/** Disk for a gateway. */
	readonly disk: Disk = diskWith((operation, path) => this.#step(operation, path));

	/** @throws {NodeJS.ErrnoException} if the current fault makes this step fail */
	async #step(operation: Operation, path: string): Promise<void> {
		const { fault } = this;
		// Not on the disk.
		if (!fault || path.startsWith("/proc/")) return;
		if (fault.kind === "slow" && changes.includes(operation)) await pause(fault.delayMs);
		const [code, fails] = faults[fault.kind];
		// Temporary files can be removed: otherwise the gateway could not avoid leftovers.
		if (!fails.includes(operation) || (operation === "rm" && isTemporary(path))) return;
		this.#count += 1;
		if (this.#count % fault.every === 0) throw systemError(code);
	}
}
