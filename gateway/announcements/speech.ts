/** Speaks texts with the program of SPEECH_COMMAND: the text on its standard input, a WAV file on its standard output. */

import type { Core } from "../extension.js";
import { HttpProblem } from "../problem.js";
import { Queue } from "../storage/queue.js";
import { convertWav } from "./pcm.js";
import { runProgram } from "./program.js";

const waitingAtMost = 10;

/** @returns the pieces of a WAV file as devices play it @throws {HttpProblem} */
export type Speak = (text: string) => Promise<readonly Buffer[]>;

export interface Speech {
	readonly speak: Speak;
	/** Ends the program that runs. */
	readonly close: () => void;
}

/** Nothing of a text is logged, or in a program's arguments, which other users of the computer can read. */
export function createSpeech({
	settings,
	log,
	yieldToLoop,
}: Pick<Core, "settings" | "log" | "yieldToLoop">): Speech {
	const { speechCommand } = settings;
	const queue = new Queue();
	const ending = new AbortController();
	let waiting = 0;
	const speak: Speak = async (text) => {
		if (!speechCommand)
			throw new HttpProblem(
				501,
				"This gateway has no voice: set SPEECH_COMMAND to a program that speaks, and start it again.",
			);
		const line = lineOf(text);
		if (line === "\n") throw new HttpProblem(422, "The text is blank; write what is to be spoken.");
		if (waiting >= waitingAtMost)
			throw new HttpProblem(503, `${waitingAtMost} texts wait to be spoken; try again.`);
		waiting += 1;
		try {
			const spoken = await queue.add(() => runProgram(speechCommand, line, ending.signal));
			const pieces: Buffer[] = [];
			for (const piece of convertWav(spoken)) {
				pieces.push(piece);
				await yieldToLoop();
			}
			return pieces;
		} catch (error) {
			const why = error instanceof Error ? error.message : String(error);
			log.warn({ program: speechCommand[0], problem: why }, "speech");
			throw new HttpProblem(502, `The program of SPEECH_COMMAND gave no sound. ${why}`);
		} finally {
			waiting -= 1;
		}
	};
	return { speak, close: () => ending.abort() };
}

/** Programs such as piper speak a line at a time, each as a WAV file of its own. */
function lineOf(text: string): string {
	return `${text.replace(/[\s\p{Cc}]+/gu, " ").trim()}\n`;
}
