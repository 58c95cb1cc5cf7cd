/** Program that creates WAV files, one run at a time, as each may use a whole CPU core. */

import { messageOf } from "../../device/message-of.js";
import type { Core } from "../extension.js";
import { RequestError } from "../problem.js";
import { Queue } from "../storage/queue.js";
import { convertWav } from "./pcm.js";
import { runProgram } from "./program.js";

export interface SoundProgramOptions {
	/** Program and its arguments. */
	readonly command: readonly string[];
	/** Time limit of one run. */
	readonly limitMs: number;
	/** Maximum number of queued runs. */
	readonly maxWaiting: number;
	/** Description of the queue, such as "texts are queued for speech synthesis". */
	readonly waiting: string;
	/** HTTP status if the program produces no sound, and the message before the reason. */
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
	 * Runs the program.
	 * @param signal aborts the program or the wait in the queue
	 * @returns chunks of a WAV file in the format of devices; rejects with an RequestError or the signal's
	 * reason
	 * @throws {RequestError} 503 synchronously if the queue is full
	 */
	run(input: string | Uint8Array, signal: AbortSignal): Promise<readonly Uint8Array[]> {
		const { maxWaiting, waiting } = this.#options;
		if (this.#waiting >= maxWaiting)
			throw new RequestError(503, `${maxWaiting} ${waiting}. Try again later.`);
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
			const why = messageOf(error);
			this.#core.log.warn({ program: command[0], problem: why }, "sound program failed");
			throw new RequestError(status, `${failure} ${why}`);
		}
	}
}
