/**
 * Checks and locks the data folder, as two gateways would overwrite each other's files.
 *
 * Node has no flock, so the lock is a file with the process and the folder of its holder. Within the same boot and PID namespace, /proc
 * shows whether the holder runs. Otherwise (another container or computer, or a copy of the folder), the holder runs if it updates the
 * modification time of the file every second. That time is compared only with itself, as clocks may differ.
 */

import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Infer, integer, matches, object, optional, string } from "../../device/protocol/schema.js";
import { errorCode, StartError } from "../problem.js";
import { type Disk, ifExists, makeFolder } from "./atomic-file.js";

const holder = object({
	id: string(36),
	pid: integer(0, Number.MAX_SAFE_INTEGER),
	/** Start time in clock ticks since boot, as PIDs are reused; empty if unknown. */
	startTime: string(32),
	/** Boot id and PID namespace. */
	place: string(200),
	host: string(255),
	/** Device and inode of the folder, to detect a copy. Absent in locks of earlier releases. */
	folder: optional(string(64)),
});
type Holder = Infer<typeof holder>;

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

/** Number of missed renewals after which the lock is stale, on systems without /proc. */
const maxMissedRenewals = 4;
/** Errors of a full or read-only disk, which must not stop the gateway. */
const unwritable: readonly string[] = ["ENOSPC", "EDQUOT", "EROFS", "EISDIR"];

export class FolderLock {
	readonly #options: FolderLockOptions;
	readonly #path: string;
	readonly #renewMs: number;
	#own: Holder | undefined;
	#timer: NodeJS.Timeout | undefined;

	constructor(options: FolderLockOptions) {
		this.#options = options;
		this.#path = join(options.directory, "gateway.lock");
		this.#renewMs = options.renewMs ?? 1000;
	}

	/** @throws {StartError} if another process holds the folder @throws {NodeJS.ErrnoException} */
	async acquire(): Promise<void> {
		const { disk, directory, onProblem } = this.#options;
		await makeFolder(disk, directory);
		const own = await describeSelf(disk, directory);
		try {
			if (!(await this.#write(own, "wx"))) await this.#takeOver(own);
		} catch (error) {
			if (!unwritable.includes(errorCode(error) ?? "")) throw error;
			onProblem(
				`${this.#path} cannot be written (${errorCode(error)}). Make sure that no other gateway uses the folder.`,
			);
		}
		this.#own = own;
		this.#timer = setInterval(() => void this.#renew(own), this.#renewMs).unref();
	}

	async release(): Promise<void> {
		clearInterval(this.#timer);
		const own = this.#own;
		this.#own = undefined;
		try {
			if (own && (await this.#readHolder())?.id === own.id)
				await this.#options.disk.rm(this.#path, { force: true });
		} catch {
			// A remaining file is stale once this process has ended.
		}
	}

	/** Overwrites the lock file. If two processes try at once, one wins. */
	async #takeOver(own: Holder): Promise<void> {
		const previous = await this.#readHolder();
		if (await this.#isAlive(previous, own)) throw this.#rejection(previous);
		await this.#write(own, "w");
		await pause(this.#renewMs / 10);
		const now = await this.#readHolder();
		if (now?.id !== own.id) throw this.#rejection(now);
	}

	async #isAlive(previous: Holder | undefined, own: Holder): Promise<boolean> {
		const { disk } = this.#options;
		if (previous?.place === own.place && previous.startTime !== "") {
			if ((await startTimeOf(disk, previous.pid)) !== previous.startTime) return false;
			if (previous.folder === own.folder) return true;
		}
		const state = await this.#state();
		for (let halves = 0; halves < maxMissedRenewals * 2; halves += 1) {
			await pause(this.#renewMs / 2);
			if ((await this.#state()) !== state) return true;
		}
		return false;
	}

	async #renew(own: Holder): Promise<void> {
		const { disk, onLost } = this.#options;
		try {
			const holder = await this.#readHolder();
			if (this.#own !== own) return;
			if (holder?.id === own.id) {
				const now = new Date();
				return await disk.utimes(this.#path, now, now);
			}
			// The file was deleted, or could not be written earlier.
			if (holder === undefined) return void (await this.#write(own, "w"));
			clearInterval(this.#timer);
			onLost(this.#rejection(holder).message);
		} catch {
			// Retried at the next renewal.
		}
	}

	/** @returns false if `flag` is "wx" and the file exists */
	async #write(own: Holder, flag: "w" | "wx"): Promise<boolean> {
		try {
			await this.#options.disk.writeFile(this.#path, `${JSON.stringify(own)}\n`, { flag, mode: 0o600 });
			return true;
		} catch (error) {
			if (errorCode(error) === "EEXIST") return false;
			throw error;
		}
	}

	/** @returns undefined if the file is missing or incomplete */
	async #readHolder(): Promise<Holder | undefined> {
		const content = await ifExists(this.#options.disk.readFile(this.#path, "utf8"));
		try {
			const value: unknown = JSON.parse(content ?? "");
			return matches(holder, value) ? value : undefined;
		} catch {
			return undefined;
		}
	}

	async #state(): Promise<string | undefined> {
		const found = await ifExists(this.#options.disk.stat(this.#path, { bigint: true }));
		return found && [found.ino, found.size, found.mtimeNs].join();
	}

	#rejection(by: Holder | undefined): StartError {
		const owner = by ? `process ${by.pid} on ${by.host}` : "another process";
		return new StartError(
			`DATA_DIR "${this.#options.directory}" is in use by ${owner}. Stop it, or set DATA_DIR to another folder. If no gateway uses it any more, remove ${this.#path}.`,
		);
	}
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

/** Awaits work on the data folder. @throws {StartError} if a file operation failed */
export async function explainFolderErrors(dataDir: string, work: Promise<void> | undefined): Promise<void> {
	try {
		await work;
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
