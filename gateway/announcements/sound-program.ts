/** A program that makes a WAV file: one run at a time, as each may take all of a processor. */

import type { Core } from "../extension.js";
import { HttpProblem } from "../problem.js";
import { Queue } from "../storage/queue.js";
import { convertWav } from "./pcm.js";
import { runProgram } from "./program.js";

export interface SoundProgramOptions {
	/** The program and its arguments. */
	readonly command: readonly string[];
	/** Of one run. */
	readonly limitMs: number;
	/** Runs that wait, at most. */
	readonly waitingAtMost: number;
	/** What waits, such as "texts wait to be spoken". */
	readonly waiting: string;
	/** When it gives no sound: the answer's status, and the sentence before the reason. */
	readonly status: number;
	readonly failure: string;
}

export class SoundProgram {
	readonly #core: Pick<Core, "log" | "yieldToLoop">;
	readonly #options: SoundProgramOptions;
	readonly #queue = new Queue();
	#waiting = 0;

	constructor(core: Pick<Core, "log" | "yieldToLoop">, options: SoundProgramOptions) {
		this.#core = core;
		this.#options = options;
	}

	/**
	 * @param signal ends the program, or the wait for its turn
	 * @returns the pieces of a WAV file as devices play it; rejects with an HttpProblem, or the signal's reason
	 * @throws {HttpProblem} 503 at once, if too many wait
	 */
	run(input: string | Uint8Array, signal: AbortSignal): Promise<readonly Uint8Array[]> {
		const { waitingAtMost, waiting } = this.#options;
		if (this.#waiting >= waitingAtMost) throw new HttpProblem(503, `${waitingAtMost} ${waiting}; try again.`);
		this.#waiting += 1;
		return this.#run(input, signal).finally(() => {
			this.#waiting -= 1;
		});
	}

	async #run(input: string | Uint8Array, signal: AbortSignal): Promise<readonly Uint8Array[]> {
		const { command, limitMs, status, failure } = this.#options;
		const aborted = new Promise<never>((_, reject) => {
			signal.addEventListener("abort", () => reject(signal.reason), { once: true });
		});
		try {
			const made = this.#queue.add(() => runProgram({ command, input, limitMs, signal }));
			const pieces: Uint8Array[] = [];
			for (const piece of convertWav(await Promise.race([made, aborted]))) {
				pieces.push(piece);
				await this.#core.yieldToLoop();
			}
			return pieces;
		} catch (error) {
			signal.throwIfAborted();
			const why = error instanceof Error ? error.message : String(error);
			this.#core.log.warn({ program: command[0], problem: why }, "a program for sounds");
			throw new HttpProblem(status, `${failure} ${why}`);
		}
	}
}
