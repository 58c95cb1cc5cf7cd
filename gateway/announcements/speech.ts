/** Speaks texts with the program of SPEECH_COMMAND: the text on its standard input, a WAV file on its standard output. */

import type { Core } from "../extension.js";
import { HttpProblem } from "../problem.js";
import { Queue } from "../storage/queue.js";
import { convertWav } from "./pcm.js";
import { runProgram } from "./program.js";

const waitingAtMost = 10;
export const speechLimits = Object.freeze({
	/** For the program, of one text. */
	speechProgramMs: 30_000,
	/** For a text to be spoken while a request waits for it, whose connection is then without traffic. */
	speechMs: 25_000,
});

/**
 * Nothing of a text is logged, or in a program's arguments, which other users of the computer can read.
 * @param signal ends the program, or the wait for its turn
 * @returns the pieces of a WAV file as devices play it; rejects with an HttpProblem 502, or the signal's reason
 * @throws {HttpProblem} 422, 501, 503: at once
 */
export type Speak = (text: string, signal: AbortSignal) => Promise<readonly Uint8Array[]>;

export function createSpeech({
	settings,
	limits,
	log,
	yieldToLoop,
}: Pick<Core, "settings" | "limits" | "log" | "yieldToLoop">): Speak {
	const { speechCommand } = settings;
	const { speechProgramMs } = { ...speechLimits, ...limits };
	const queue = new Queue();
	let waiting = 0;
	const run = async (command: readonly string[], line: string, signal: AbortSignal) => {
		const aborted = new Promise<never>((_, reject) => {
			signal.addEventListener("abort", () => reject(signal.reason), { once: true });
		});
		try {
			const spoken = queue.add(() => runProgram({ command, input: line, limitMs: speechProgramMs, signal }));
			const pieces: Uint8Array[] = [];
			for (const piece of convertWav(await Promise.race([spoken, aborted]))) {
				pieces.push(piece);
				await yieldToLoop();
			}
			return pieces;
		} catch (error) {
			signal.throwIfAborted();
			const why = error instanceof Error ? error.message : String(error);
			log.warn({ program: command[0], problem: why }, "speech");
			throw new HttpProblem(502, `The program of SPEECH_COMMAND gave no sound. ${why}`);
		} finally {
			waiting -= 1;
		}
	};
	return (text, signal) => {
		requireSpeech(speechCommand, text);
		if (waiting >= waitingAtMost)
			throw new HttpProblem(503, `${waitingAtMost} texts wait to be spoken; try again.`);
		waiting += 1;
		return run(speechCommand, lineOf(text), signal);
	};
}

/** @param command SPEECH_COMMAND @throws {HttpProblem} 422, 501 if the text cannot be spoken */
export function requireSpeech(
	command: readonly string[] | undefined,
	text: string,
): asserts command is readonly string[] {
	if (!command)
		throw new HttpProblem(
			501,
			"This gateway has no voice: set SPEECH_COMMAND to a program that speaks, and start it again.",
		);
	if (lineOf(text) === "\n") throw new HttpProblem(422, "The text is blank; write what is to be spoken.");
}

/** Programs such as piper speak a line at a time, each as a WAV file of its own. */
function lineOf(text: string): string {
	return `${text.replace(/[\s\p{Cc}]+/gu, " ").trim()}\n`;
}
