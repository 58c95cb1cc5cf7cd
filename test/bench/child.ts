/**
 * Child process: a server whose processor time is measured, or a load that must not be measured with it. Parent and
 * child exchange requests and responses in JSON over Node's IPC. A child ends with its parent.
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { messageOf } from "../../device/message-of.js";
import { type Owner, onEnd } from "../support/cleanup.js";

/** Functions of a child with one argument and one result each, both JSON. */
export type Handlers = Readonly<Record<string, (argument: never) => unknown>>;

interface Question {
	readonly id: number;
	readonly name: string;
	readonly argument: never;
}

interface Answer {
	readonly id: number;
	/** JSON. */
	readonly result?: string;
	readonly failure?: string;
}

export interface ChildOptions {
	/** Options for Node and V8, before the file. */
	readonly nodeOptions?: readonly string[];
	/**
	 * Idle priority for clients that would run on other computers, so that the measured processes do not wait for
	 * their processor. Uses SCHED_IDLE (sched(7)) for all threads; with a high nice value they would still hold a
	 * processor for a tick of 4 ms.
	 */
	readonly hasLowPriority?: boolean;
	/** Open file for its standard error. */
	readonly stderr?: number;
	/** Called when it exits without `close` or `kill`. */
	readonly onEnd?: (why: string) => void;
}

/** Request timeout. Five gateways on two cores need some minutes to accept 18,000 devices each. */
const answerMs = 900_000;
/** Close timeout. A gateway takes less to delete the records of 90,000 devices. */
const closeMs = 60_000;

/** Starts a child that is closed with its owner. @param file as for `Child` */
export function start<H extends Handlers>(t: Owner, file: string, options?: ChildOptions): Child<H> {
	const child = new Child<H>(file, options);
	onEnd(t, () => child.close());
	return child;
}

/** Parent's side. `H` is the type of the child's handlers. */
export class Child<H extends Handlers> {
	readonly #process: ChildProcess;
	readonly #waiting = new Map<number, { resolve(json: string): void; reject(error: Error): void }>();
	#count = 0;
	#isClosed = false;

	/** @param file TypeScript, relative to this folder */
	constructor(file: string, options: ChildOptions = {}) {
		const { nodeOptions = [], hasLowPriority = false, onEnd } = options;
		const command = [process.execPath, ...nodeOptions, "--import", "tsx", "--expose-gc"];
		if (hasLowPriority && process.platform === "linux") command.unshift("chrt", "--idle", "0");
		const [execPath, ...execArgv] = command;
		const stderr = options.stderr ?? (process.env.BENCH_VERBOSE ? "inherit" : "ignore");
		this.#process = fork(fileURLToPath(new URL(file, import.meta.url)), {
			execPath,
			execArgv,
			stdio: ["ignore", "ignore", stderr, "ipc"],
		});
		this.#process.on("message", (text) => {
			const { id, result = "null", failure }: Answer = JSON.parse(String(text));
			const waiter = this.#waiting.get(id);
			this.#waiting.delete(id);
			if (failure === undefined) waiter?.resolve(result);
			else waiter?.reject(new Error(`${file}: ${failure}`));
		});
		const rejectAll = (why: string) => {
			for (const { reject } of this.#waiting.values()) reject(new Error(`${file} ${why}`));
			this.#waiting.clear();
		};
		this.#process.once("exit", (code, signal) => {
			rejectAll(`exited with ${signal ?? code}; BENCH_VERBOSE=1 shows its output`);
			if (this.#isClosed) return;
			if (code !== 0) process.exitCode = 1;
			onEnd?.(String(signal ?? code));
		});
		this.#process.on("error", ({ message }) => {
			// Otherwise it is e.g. a request to a process that has just been killed.
			if (this.#process.pid === undefined) rejectAll(`failed to start: ${message}`);
		});
	}

	get pid(): number {
		return this.#process.pid ?? 0;
	}

	get #hasEnded(): boolean {
		const { pid, exitCode, signalCode } = this.#process;
		return pid === undefined || exitCode !== null || signalCode !== null;
	}

	/** @throws Error with the child's error, or if it has exited */
	async request<N extends keyof H & string>(
		name: N,
		...[argument]: Parameters<H[N]>
	): Promise<Awaited<ReturnType<H[N]>>> {
		const id = ++this.#count;
		let timer: NodeJS.Timeout | undefined;
		const answered = new Promise<string>((resolve, reject) => {
			this.#waiting.set(id, { resolve, reject });
			timer = setTimeout(() => reject(new Error(`no response to ${name}`)), answerMs);
		});
		this.#process.send(JSON.stringify({ id, name, argument: argument ?? null }));
		try {
			return JSON.parse(await answered);
		} finally {
			clearTimeout(timer);
		}
	}

	/** Kills it with SIGKILL like a power cut. */
	kill(): Promise<void> {
		return this.#end(() => this.#process.kill("SIGKILL"));
	}

	/** "SIGSTOP" suspends it, "SIGCONT" continues it. */
	signal(signal: "SIGSTOP" | "SIGCONT"): void {
		this.#process.kill(signal);
	}

	async close(): Promise<void> {
		const kill = setTimeout(() => this.#process.kill("SIGKILL"), closeMs);
		await this.#end(() => this.#process.connected && this.#process.disconnect());
		clearTimeout(kill);
	}

	async #end(action: () => unknown): Promise<void> {
		this.#isClosed = true;
		if (this.#hasEnded) return;
		const ended = once(this.#process, "exit");
		action();
		await ended;
	}
}

/** Child's side. */
export function serve(handlers: Handlers): void {
	process.on("message", async (text) => {
		const { id, name, argument }: Question = JSON.parse(String(text));
		try {
			const result = JSON.stringify((await handlers[name]?.(argument)) ?? null);
			process.send?.(JSON.stringify({ id, result }));
		} catch (error) {
			process.send?.(JSON.stringify({ id, failure: messageOf(error) }));
		}
	});
	process.on("disconnect", () => process.exit(0));
}
