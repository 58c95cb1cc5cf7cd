/**
 * A lock on the data folder: two gateways that write to one would each undo what the other has written.
 *
 * Node has no flock, a Unix socket's path may be 107 bytes long, and neither works on every shared folder. So the lock is a
 * file that names its process. Whether that still runs is known at once where it can be looked up: on the same boot of the
 * same kernel, in the same namespace of process ids. Elsewhere (another container, another machine, a system without /proc)
 * it shows in the file's time, which the holder changes every second. That time is compared with itself alone, never with a
 * clock: machines that share a folder need not agree on the time.
 */

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Infer, integer, matches, object, string } from "../device/protocol/schema.js";
import { errorCode, StartError } from "./start-error.js";
import { type Disk, ifThere, makeFolder } from "./whole-file.js";

const holder = object({
	/** Differs for each lock. */
	id: string(36),
	pid: integer(0, Number.MAX_SAFE_INTEGER),
	/** When the process started, in clock ticks since its machine did: a process id is used again. Empty: not known. */
	startTime: string(32),
	/** In what its process id is meaningful. */
	place: string(200),
	host: string(255),
});
type Holder = Infer<typeof holder>;

export interface FolderLockOptions {
	/** Made where it is missing. */
	readonly directory: string;
	readonly disk: Disk;
	/** The folder is in use by another process since: this one must not write to it any more. */
	readonly onLost: (sentence: string) => void;
	/** The lock could not be written down; the gateway goes on without. */
	readonly onProblem: (sentence: string) => void;
	/** Between two signs of life; milliseconds. Default 1000. */
	readonly beatMs?: number;
}

/** A holder that cannot be looked up has gone where it gave no sign of life for so many of its intervals. */
const beatsMissed = 4;
/** A disk that is full or read-only, or a folder in the file's place, is no reason to lock devices out. */
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

	/**
	 * Takes the folder.
	 *
	 * @throws StartError where another process has it
	 * @throws {NodeJS.ErrnoException} where the folder cannot be used
	 */
	async take(): Promise<void> {
		const { disk, directory, onProblem } = this.#options;
		await makeFolder(disk, directory);
		const own = await describeSelf(disk);
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

	/** Gives the folder back. */
	async release(): Promise<void> {
		clearInterval(this.#timer);
		const own = this.#own;
		this.#own = undefined;
		try {
			if (own && (await this.#read())?.id === own.id)
				await this.#options.disk.rm(this.#path, { force: true });
		} catch {
			// It stays, and names a process that has gone.
		}
	}

	/** Replaces a lock whose process has gone: in place, so that of two that do so at once one remains. */
	async #takeOver(own: Holder): Promise<void> {
		const previous = await this.#read();
		if (await this.#isAlive(previous)) throw this.#refusal(previous);
		await this.#write(own, "w");
		await pause(this.#beatMs / 10);
		const now = await this.#read();
		if (now?.id !== own.id) throw this.#refusal(now);
	}

	async #isAlive(previous: Holder | undefined): Promise<boolean> {
		const { disk } = this.#options;
		const self = await describeSelf(disk);
		if (previous?.place === self.place && previous.startTime !== "")
			return (await startTimeOf(disk, previous.pid)) === previous.startTime;
		const state = await this.#state();
		for (let beat = 0; beat < beatsMissed * 2; beat += 1) {
			await pause(this.#beatMs / 2);
			if ((await this.#state()) !== state) return true;
		}
		return false;
	}

	/** Shows that this process is there, and that the folder is still its own. */
	async #beat(own: Holder): Promise<void> {
		const { disk, onLost } = this.#options;
		try {
			const holder = await this.#read();
			if (this.#own !== own) return;
			if (holder?.id === own.id) {
				const now = new Date();
				return await disk.utimes(this.#path, now, now);
			}
			// It was removed, or there was no room for it at the start.
			if (holder === undefined) return void (await this.#write(own, "w"));
			clearInterval(this.#timer);
			onLost(this.#refusal(holder).message);
		} catch {
			// A disk that is full, or too many open files: the next beat tries again.
		}
	}

	/** @returns false where there is a lock and `flag` is "wx" */
	async #write(own: Holder, flag: "w" | "wx"): Promise<boolean> {
		try {
			await this.#options.disk.writeFile(this.#path, `${JSON.stringify(own)}\n`, { flag, mode: 0o600 });
			return true;
		} catch (error) {
			if (errorCode(error) === "EEXIST") return false;
			throw error;
		}
	}

	/** @returns undefined where there is none, or one that is only half written */
	async #read(): Promise<Holder | undefined> {
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

	#refusal(by: Holder | undefined): StartError {
		const who = by ? `process ${by.pid} on ${by.host}` : "another process";
		return new StartError(
			`DATA_DIR is "${this.#options.directory}", which is in use by ${who}; stop that, or set DATA_DIR to another folder.`,
		);
	}
}

async function describeSelf(disk: Disk): Promise<Holder> {
	const { pid } = process;
	const boot = await ifThere(disk.readFile("/proc/sys/kernel/random/boot_id", "utf8"));
	const namespace = await ifThere(disk.readlink("/proc/self/ns/pid"));
	const startTime = (await startTimeOf(disk, pid)) ?? "";
	const place = `${boot?.trim() ?? hostname()} ${namespace ?? ""}`;
	return { id: randomUUID(), pid, startTime, place, host: hostname() };
}

/** @returns undefined where there is no such process, or none that still runs, or no /proc */
async function startTimeOf(disk: Disk, pid: number): Promise<string | undefined> {
	const stat = await disk.readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
	// proc(5): the second field, the name in brackets, may hold spaces and brackets; the third is the state, the 22nd the start.
	const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ") ?? [];
	return ["Z", "X"].includes(fields[0] ?? "") ? undefined : fields[19];
}
