/**
 * The data folder: its problems, and its lock, since two gateways would overwrite each other's files.
 *
 * Node has no flock, so the lock is a file that names its process and its folder. In the same boot and process id namespace, /proc
 * shows whether that runs. Otherwise (another container or machine, a copy of the folder) it is alive if it changes the file's time,
 * every second; that is compared only with itself, as clocks may differ.
 */

import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Infer, integer, matches, object, optional, string } from "../../device/protocol/schema.js";
import { errorCode, StartError } from "../problem.js";
import { type Disk, ifThere, makeFolder } from "./atomic-file.js";

const holder = object({
	id: string(36),
	pid: integer(0, Number.MAX_SAFE_INTEGER),
	/** In clock ticks since boot, as ids are reused; empty: unknown. */
	startTime: string(32),
	/** Boot and process id namespace. */
	place: string(200),
	host: string(255),
	/** Device and inode of the folder, to recognize a copy of it; releases before it have none. */
	folder: optional(string(64)),
});
type Holder = Infer<typeof holder>;

export interface FolderLockOptions {
	/** Made if missing. */
	readonly directory: string;
	readonly disk: Disk;
	/** Another process has taken the folder. */
	readonly onLost: (sentence: string) => void;
	/** The lock could not be written; the gateway runs without. */
	readonly onProblem: (sentence: string) => void;
	/** Default: 1000. */
	readonly beatMs?: number;
}

/** Missed renewals after which the holder has ended, on systems without /proc. */
const beatsMissed = 4;
/** A full or read-only disk must not stop the gateway. */
const cannotWrite: readonly string[] = ["ENOSPC", "EDQUOT", "EROFS", "EISDIR"];

export class FolderLock {
	readonly #options: FolderLockOptions;
	readonly #path: string;
	readonly #beatMs: number;
	#own: Holder | undefined;
	#timer: NodeJS.Timeout | undefined;

	constructor(options: FolderLockOptions) {
		this.#options = options;
		this.#path = join(options.directory, "gateway.lock");
		this.#beatMs = options.beatMs ?? 1000;
	}

	/** @throws {StartError} if another process holds the folder @throws {NodeJS.ErrnoException} */
	async take(): Promise<void> {
		const { disk, directory, onProblem } = this.#options;
		await makeFolder(disk, directory);
		const own = await describeSelf(disk, directory);
		try {
			if (!(await this.#write(own, "wx"))) await this.#takeOver(own);
		} catch (error) {
			if (!cannotWrite.includes(errorCode(error) ?? "")) throw error;
			onProblem(
				`${this.#path} cannot be written (${errorCode(error)}): another gateway may use the folder too.`,
			);
		}
		this.#own = own;
		this.#timer = setInterval(() => void this.#beat(own), this.#beatMs).unref();
	}

	async release(): Promise<void> {
		clearInterval(this.#timer);
		const own = this.#own;
		this.#own = undefined;
		try {
			if (own && (await this.#readHolder())?.id === own.id)
				await this.#options.disk.rm(this.#path, { force: true });
		} catch {
			// The file stays; its process has ended.
		}
	}

	/** Replaces the lock file in place: if two processes try at once, one wins. */
	async #takeOver(own: Holder): Promise<void> {
		const previous = await this.#readHolder();
		if (await this.#isAlive(previous, own)) throw this.#rejection(previous);
		await this.#write(own, "w");
		await pause(this.#beatMs / 10);
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
		for (let beat = 0; beat < beatsMissed * 2; beat += 1) {
			await pause(this.#beatMs / 2);
			if ((await this.#state()) !== state) return true;
		}
		return false;
	}

	async #beat(own: Holder): Promise<void> {
		const { disk, onLost } = this.#options;
		try {
			const holder = await this.#readHolder();
			if (this.#own !== own) return;
			if (holder?.id === own.id) {
				const now = new Date();
				return await disk.utimes(this.#path, now, now);
			}
			// The file was removed, or the disk was full.
			if (holder === undefined) return void (await this.#write(own, "w"));
			clearInterval(this.#timer);
			onLost(this.#rejection(holder).message);
		} catch {
			// The next beat tries again.
		}
	}

	/** @returns false if there is a lock and `flag` is "wx" */
	async #write(own: Holder, flag: "w" | "wx"): Promise<boolean> {
		try {
			await this.#options.disk.writeFile(this.#path, `${JSON.stringify(own)}\n`, { flag, mode: 0o600 });
			return true;
		} catch (error) {
			if (errorCode(error) === "EEXIST") return false;
			throw error;
		}
	}

	/** @returns undefined if missing or incomplete */
	async #readHolder(): Promise<Holder | undefined> {
		const content = await ifThere(this.#options.disk.readFile(this.#path, "utf8"));
		try {
			const value: unknown = JSON.parse(content ?? "");
			return matches(holder, value) ? value : undefined;
		} catch {
			return undefined;
		}
	}

	async #state(): Promise<string | undefined> {
		const found = await ifThere(this.#options.disk.stat(this.#path, { bigint: true }));
		return found && [found.ino, found.size, found.mtimeNs].join();
	}

	#rejection(by: Holder | undefined): StartError {
		const who = by ? `process ${by.pid} on ${by.host}` : "another process";
		return new StartError(
			`DATA_DIR "${this.#options.directory}" is in use by ${who}. Stop it, or set DATA_DIR to another folder. If no gateway uses it any more, remove ${this.#path}.`,
		);
	}
}

async function describeSelf(disk: Disk, directory: string): Promise<Holder> {
	const { pid } = process;
	const boot = await ifThere(disk.readFile("/proc/sys/kernel/random/boot_id", "utf8"));
	const namespace = await ifThere(disk.readlink("/proc/self/ns/pid"));
	const startTime = (await startTimeOf(disk, pid)) ?? "";
	const place = `${boot?.trim() ?? hostname()} ${namespace ?? ""}`;
	const { dev, ino } = await disk.stat(directory, { bigint: true });
	return { id: randomUUID(), pid, startTime, place, host: hostname(), folder: `${dev}:${ino}` };
}

/** @returns undefined if the process has ended or /proc is missing */
async function startTimeOf(disk: Disk, pid: number): Promise<string | undefined> {
	const stat = await disk.readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
	// proc(5): field 2, the name, may hold spaces and brackets; field 22 is the start time.
	const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ") ?? [];
	return ["Z", "X"].includes(fields[0] ?? "") ? undefined : fields[19];
}

/** @throws {StartError} if the folder caused the failure */
export async function usable(dataDir: string, work: Promise<void> | undefined): Promise<void> {
	try {
		await work;
	} catch (error) {
		const code = errorCode(error);
		if (code === undefined) throw error;
		throw new StartError(`Cannot use DATA_DIR "${dataDir}" (${code}). Set it to a folder of its own.`);
	}
}

/** @returns undefined if the data folder can be written */
export async function findDiskProblem(disk: Disk, dataDir: string): Promise<string | undefined> {
	try {
		await disk.access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
		const { bavail } = await disk.statfs(dataDir);
		return bavail > 0 ? undefined : "The data folder's disk is full.";
	} catch (error) {
		return `The data folder cannot be used (${errorCode(error)}).`;
	}
}
