/**
 * A process of a benchmark: a server whose processor time counts, or a load that must not be counted with it. The parent
 * asks, the child answers, over Node's IPC in JSON. A child ends with its parent, however that ends.
 */

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** What a child can be asked for: one argument and one answer each, both JSON. */
export type Handlers = Readonly<Record<string, (argument: never) => unknown>>;

interface Question {
	readonly id: number;
	readonly name: string;
	readonly argument: never;
}

interface Answer {
	readonly id: number;
	/** As JSON. */
	readonly result?: string;
	readonly failure?: string;
}

export interface ChildOptions {
	/** For Node and V8, before the file. */
	readonly nodeOptions?: readonly string[];
	/**
	 * In life it is on another computer: whoever is measured must not wait for a processor that it has. With all of its
	 * threads it gets what others leave (SCHED_IDLE, sched(7)); a mere low priority holds a processor for a tick of 4 ms.
	 */
	readonly isElsewhere?: boolean;
	/** An open file where its standard error goes. */
	readonly stderr?: number;
	/** It has ended, and neither `close` nor `kill` was called. */
	readonly onEnd?: (why: string) => void;
}

/** No question of a benchmark takes so long; one that does has hung. */
const answerMs = 180_000;

/** The parent's end. `H` is the type of the handlers that the child serves. */
export class Child<H extends Handlers> {
	readonly #process: ChildProcess;
	readonly #waiting = new Map<number, { resolve(json: string): void; reject(error: Error): void }>();
	#count = 0;
	#isClosed = false;

	/** @param file TypeScript, relative to this folder */
	constructor(file: string, options: ChildOptions = {}) {
		const { nodeOptions = [], isElsewhere = false, onEnd } = options;
		const given = process.env.BENCH_NODE_OPTIONS?.split(" ") ?? [];
		const command = [process.execPath, ...nodeOptions, "--import", "tsx", "--expose-gc", ...given];
		if (isElsewhere && process.platform === "linux") command.unshift("chrt", "--idle", "0");
		const [execPath, ...execArgv] = command;
		this.#process = fork(fileURLToPath(new URL(file, import.meta.url)), {
			execPath,
			execArgv,
			stdio: [
				"ignore",
				"ignore",
				options.stderr ?? (process.env.BENCH_VERBOSE ? "inherit" : "ignore"),
				"ipc",
			],
		});
		this.#process.on("message", (text) => {
			const { id, result, failure }: Answer = JSON.parse(String(text));
			const waiter = this.#waiting.get(id);
			this.#waiting.delete(id);
			if (failure === undefined) waiter?.resolve(result ?? "null");
			else waiter?.reject(new Error(`${file}: ${failure}`));
		});
		this.#process.once("exit", (code, signal) => {
			for (const { reject } of this.#waiting.values())
				reject(new Error(`${file} ended with ${signal ?? code}; BENCH_VERBOSE=1 shows what it said`));
			this.#waiting.clear();
			if (this.#isClosed) return;
			if (code !== 0) process.exitCode = 1;
			onEnd?.(String(signal ?? code));
		});
		// Such as a question to a process that has just been killed, which gets no answer.
		this.#process.on("error", () => {});
	}

	get pid(): number {
		return this.#process.pid ?? 0;
	}

	/** @throws Error that says what the child threw, or that it has ended */
	ask<N extends keyof H & string>(
		name: N,
		...[argument]: Parameters<H[N]>
	): Promise<Awaited<ReturnType<H[N]>>> {
		const id = ++this.#count;
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => reject(new Error(`no answer to ${name}`)), answerMs);
			this.#waiting.set(id, {
				resolve: (json) => {
					clearTimeout(timer);
					resolve(JSON.parse(json));
				},
				reject: (error) => {
					clearTimeout(timer);
					reject(error);
				},
			});
			this.#process.send(JSON.stringify({ id, name, argument: argument ?? null }));
		});
	}

	/** Ends it at once, as a power cut would: nothing of it is asked. */
	async kill(): Promise<void> {
		this.#isClosed = true;
		if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
		const ended = once(this.#process, "exit");
		this.#process.kill("SIGKILL");
		await ended;
	}

	/** "SIGSTOP" has it stand still, "SIGCONT" go on. */
	signal(signal: "SIGSTOP" | "SIGCONT"): void {
		this.#process.kill(signal);
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
		const ended = once(this.#process, "exit");
		if (this.#process.connected) this.#process.disconnect();
		const kill = setTimeout(() => this.#process.kill("SIGKILL"), 5000);
		await ended;
		clearTimeout(kill);
	}
}

/** The child's end. */
export function serve(handlers: Handlers): void {
	process.on("message", async (text) => {
		const { id, name, argument }: Question = JSON.parse(String(text));
		try {
			const result = JSON.stringify((await handlers[name]?.(argument)) ?? null);
			process.send?.(JSON.stringify({ id, result }));
		} catch (error) {
			process.send?.(JSON.stringify({ id, failure: error instanceof Error ? error.message : String(error) }));
		}
	});
	process.on("disconnect", () => process.exit(0));
}
