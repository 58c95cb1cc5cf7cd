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

/** Texts are never logged or passed as program arguments, which other users of the computer can read. */
export class Speech {
	readonly #program: SoundProgram | undefined;

	constructor(core: Pick<Core, "environment" | "limits" | "log" | "yieldToLoop">) {
		const command = speechCommand.read(core.environment);
		const { speechProgramMs: limitMs } = { ...speechLimits, ...core.limits };
		this.#program =
			command &&
			new SoundProgram(core, {
				command,
				limitMs,
				maxWaiting: 10,
				waiting: "texts are queued for speech synthesis",
				status: 502,
				failure: "SPEECH_COMMAND produced no sound.",
			});
	}

	/** Whether SPEECH_COMMAND is set. */
	get isAvailable(): boolean {
		return this.#program !== undefined;
	}

	/** @throws {RequestError} 422, 501 if the text cannot be spoken */
	require(text: string): SoundProgram {
		if (!this.#program)
			throw new RequestError(
				501,
				"Speech requires SPEECH_COMMAND. Set it to a text-to-speech program and restart the gateway.",
			);
		if (lineOf(text) === "\n") throw new RequestError(422, "The text is blank.");
		return this.#program;
	}

	/** Speaks a text. @returns like `SoundProgram.run` @throws {RequestError} 422, 501, 503 synchronously */
	speak(text: string, signal: AbortSignal): Promise<readonly Uint8Array[]> {
		return this.require(text).run(lineOf(text), signal);
	}
}

/** Joins lines, as programs such as piper speak each line as a separate WAV file. */
function lineOf(text: string): string {
	return `${text.replace(/[\s\p{Cc}]+/gu, " ").trim()}\n`;
}
