/** Speaks texts with the program of SPEECH_COMMAND: the text on its standard input, a WAV file on its standard output. */

import type { Core } from "../extension.js";
import { HttpProblem } from "../problem.js";
import { speechCommand } from "./settings.js";
import { SoundProgram } from "./sound-program.js";

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

export function createSpeech(core: Pick<Core, "environment" | "limits" | "log" | "yieldToLoop">): Speak {
	const command = speechCommand.read(core.environment);
	const { speechProgramMs: limitMs } = { ...speechLimits, ...core.limits };
	const program =
		command &&
		new SoundProgram(core, {
			command,
			limitMs,
			waitingAtMost: 10,
			waiting: "texts wait to be spoken",
			status: 502,
			failure: "The program of SPEECH_COMMAND gave no sound.",
		});
	return (text, signal) => {
		requireSpeech(program, text);
		return program.run(lineOf(text), signal);
	};
}

/** @param voice false, undefined: SPEECH_COMMAND is not set @throws {HttpProblem} 422, 501 if the text cannot be spoken */
export function requireSpeech<T>(voice: T | false | undefined, text: string): asserts voice is T {
	if (!voice)
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
