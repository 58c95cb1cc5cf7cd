/** Speech synthesis with the program of SPEECH_COMMAND, from text on stdin to a WAV file on stdout. */

import type { Core } from "../extension.js";
import { RequestError } from "../problem.js";
import { speechCommand } from "./settings.js";
import { SoundProgram } from "./sound-program.js";

export const speechLimits = Object.freeze({
	/** Time limit of the program per text. */
	speechProgramMs: 30_000,
	/** Time limit for a request that waits for speech, as its connection has no traffic meanwhile. */
	speechMs: 25_000,
});

/**
 * Speaks a text. Texts are never logged or passed as program arguments, which other users of the computer can
 * read.
 * @param signal aborts the program or the wait in the queue
 * @returns chunks of a WAV file in the format of devices; rejects with an RequestError 502 or the signal's
 * reason
 * @throws {RequestError} 422, 501, 503 synchronously
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
			maxWaiting: 10,
			waiting: "texts are queued for speech synthesis",
			status: 502,
			failure: "SPEECH_COMMAND produced no sound.",
		});
	return (text, signal) => {
		requireSpeech(program, text);
		return program.run(lineOf(text), signal);
	};
}

/**
 * @param voice false, undefined: SPEECH_COMMAND is not set
 * @throws {RequestError} 422, 501 if the text cannot be spoken
 */
export function requireSpeech<T>(voice: T | false | undefined, text: string): asserts voice is T {
	if (!voice)
		throw new RequestError(
			501,
			"Speech requires SPEECH_COMMAND. Set it to a text-to-speech program and restart the gateway.",
		);
	if (lineOf(text) === "\n") throw new RequestError(422, "The text is blank.");
}

/** Joins lines, as programs such as piper speak each line as a separate WAV file. */
function lineOf(text: string): string {
	return `${text.replace(/[\s\p{Cc}]+/gu, " ").trim()}\n`;
}
