/**
 * Locks between processes.
 *
 * Node has no flock, so the lock is a file with the process and the folder of its holder. Within the same boot and PID namespace, /proc
 * shows whether the holder runs. Otherwise (another container or computer, or a copy of the folder), the holder runs if it updates the
 * modification time of the file every second. That time is compared only with itself, as clocks may differ.
 */

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Infer, integer, object, parseAs, string } from "../../device/protocol/schema.js";
import { errorCode } from "../problem.js";
import { type Disk, ifExists } from "./atomic-file.js";

const holder = object({
	id: string(36),
	pid: integer(0, Number.MAX_SAFE_INTEGER),
	/** Start time in clock ticks since boot, as PIDs are reused; empty if unknown. */
	startTime: string(32),
	/** Boot id and PID namespace. */
	place: string(200),
	host: string(255),
	/** Device and inode of the folder, to detect a copy. */
	folder: string(64),
});
type Holder = Infer<typeof holder>;

export interface FileLockOptions {
	/** Lock file, in an existing folder. */
	readonly path: string;
	readonly disk: Disk;
	/** Called when another process has taken over the lock. */
	readonly onLost?: (by: string) => void;
	/** Called with the error code if the disk is full or read-only; the lock is then written later. Default: `acquire` throws. */
	readonly onUnwritable?: (code: string | undefined) => void;
	/** Interval of renewals. Default: 1000. */
	readonly renewMs?: number | undefined;
}

/** Number of missed renewals after which the lock is stale, on systems without /proc. */
const maxMissedRenewals = 4;
const unwritable: readonly string[] = ["ENOSPC", "EDQUOT", "EROFS", "EISDIR"];
const retryMs = 20;
/** Longest wait for another process, by default. */
const defaultMaxWaitMs = 30_000;

/**
 * Runs work that reads and writes a file while no other process does, without blocking the event loop.
 * @param path file, beside which the lock is created
 * @throws {NodeJS.ErrnoException} EBUSY if another process keeps the lock for longer; or if the lock cannot be written
 */
export async function withFileLock<T>(
	disk: Disk,
	path: string,
	work: () => Promise<T>,
	maxWaitMs = defaultMaxWaitMs,
): Promise<T> {
	const lock = new FileLock({ path: `${path}.lock`, disk });
	const deadline = performance.now() + maxWaitMs;
	for (let by = await lock.acquire(); by !== undefined; by = await lock.acquire()) {
		if (performance.now() > deadline) {
			const message = `${path} is being changed by ${by}. End that process and try again.`;
			throw Object.assign(new Error(message), { code: "EBUSY" });
		}
		await pause(Math.random() * retryMs);
	}
	try {
		return await work();
	} finally {
		await lock.release();
	}
}

export class FileLock {
	readonly #options: FileLockOptions;
	readonly #renewMs: number;
	#own: Holder | undefined;
	#timer: NodeJS.Timeout | undefined;
	#renewal: Promise<void> | undefined;

	constructor(options: FileLockOptions) {
		this.#options = options;
		this.#renewMs = options.renewMs ?? 1000;
	}

	/** @returns undefined if the lock is acquired; otherwise the process that holds it, for messages @throws {NodeJS.ErrnoException} */
	async acquire(): Promise<string | undefined> {
		const { disk, path, onUnwritable } = this.#options;
		const own = await describeSelf(disk, dirname(path));
		try {
			while (!(await this.#create(own))) {
				const by = await this.#removeStale(own);
				if (by !== undefined) return by;
			}
		} catch (error) {
			if (!onUnwritable || !unwritable.includes(errorCode(error) ?? "")) throw error;
			onUnwritable(errorCode(error));
		}
		this.#own = own;
		this.#timer = setInterval(() => {
			this.#renewal = this.#renew(own);
		}, this.#renewMs).unref();
		return undefined;
	}

	async release(): Promise<void> {
		clearInterval(this.#timer);
		const own = this.#own;
		this.#own = undefined;
		await this.#renewal;
		try {
			if (own && (await this.#readHolder())?.id === own.id)
				await this.#options.disk.rm(this.#options.path, { force: true });
		} catch {
			// A remaining file is stale once this process has ended.
		}
	}

	/**
	 * Removes the lock of a process that has ended, under a lock of its own: a slower process would otherwise remove the lock of a faster one.
	 * @returns the process that holds the lock; undefined if it may be free
	 */
	async #removeStale(own: Holder): Promise<string | undefined> {
		const { disk, path } = this.#options;
		const state = await this.#state();
		if (state === undefined) return undefined;
		const found = await this.#readHolder();
		if (await this.#isAlive(found, state, own)) return nameOf(found);
		const removal = new FileLock({ path: `${path}.lock`, disk, renewMs: this.#renewMs });
		const by = await removal.acquire();
		if (by !== undefined) return by;
		try {
			if ((await this.#state()) === state) await disk.rm(path, { force: true });
		} finally {
			await removal.release();
		}
		return undefined;
	}

	/** @param state state of the file before the holder was read */
	async #isAlive(found: Holder | undefined, state: string, own: Holder): Promise<boolean> {
		const { disk } = this.#options;
		if (found?.place === own.place && found.startTime !== "") {
			if ((await startTimeOf(disk, found.pid)) !== found.startTime) return false;
			if (found.folder === own.folder) return true;
		}
		for (let halves = 0; halves < maxMissedRenewals * 2; halves += 1) {
			await pause(this.#renewMs / 2);
			if ((await this.#state()) !== state) return true;
		}
		return false;
	}

	async #renew(own: Holder): Promise<void> {
		const { disk, path, onLost } = this.#options;
		try {
			const found = await this.#readHolder();
			if (this.#own !== own) return;
			if (found?.id === own.id) {
				const now = new Date();
				return await disk.utimes(path, now, now);
			}
			// The file was deleted, or could not be written earlier.
			if (found === undefined) return await disk.writeFile(path, format(own), { mode: 0o600 });
			clearInterval(this.#timer);
			onLost?.(nameOf(found));
		} catch {
			// Retried at the next renewal.
		}
	}

	/** @returns false if the file exists */
	async #create(own: Holder): Promise<boolean> {
		const { disk, path } = this.#options;
		try {
			const file = await disk.open(path, "wx", 0o600);
			try {
				await file.writeFile(format(own));
			} catch (error) {
				await disk.rm(path, { force: true });
				throw error;
			} finally {
				await file.close();
			}
			return true;
		} catch (error) {
			if (errorCode(error) === "EEXIST") return false;
			throw error;
		}
	}

	/** @returns undefined if the file is missing or incomplete */
	async #readHolder(): Promise<Holder | undefined> {
		const content = await ifExists(this.#options.disk.readFile(this.#options.path, "utf8"));
		return parseAs(holder, content ?? "");
	}

	async #state(): Promise<string | undefined> {
		const found = await ifExists(this.#options.disk.stat(this.#options.path, { bigint: true }));
		return found && [found.ino, found.size, found.mtimeNs].join();
	}
}

function format(own: Holder): string {
	return `${JSON.stringify(own)}\n`;
}

function nameOf(found: Holder | undefined): string {
	return found ? `process ${found.pid} on ${found.host}` : "another process";
}

async function describeSelf(disk: Disk, directory: string): Promise<Holder> {
	const { pid } = process;
	const boot = await ifExists(disk.readFile("/proc/sys/kernel/random/boot_id", "utf8"));
	const namespace = await ifExists(disk.readlink("/proc/self/ns/pid"));
	const startTime = (await startTimeOf(disk, pid)) ?? "";
	const place = `${boot?.trim() ?? hostname()} ${namespace ?? ""}`;
	const { dev, ino } = await disk.stat(directory, { bigint: true });
	return { id: randomUUID(), pid, startTime, place, host: hostname(), folder: `${dev}:${ino}` };
}

/** @returns undefined if the process has ended or /proc is missing */
async function startTimeOf(disk: Disk, pid: number): Promise<string | undefined> {
	const stat = await disk.readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
	// proc(5): field 2, the name, may contain spaces and parentheses. Field 22 is the start time.
	const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ") ?? [];
	return ["Z", "X"].includes(fields[0] ?? "") ? undefined : fields[19];
}
