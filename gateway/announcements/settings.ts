/** Settings of the programs that create sounds. */

import { StartError } from "../problem.js";
import { isProgram } from "../program.js";
import { readUnquoted, type Setting } from "../setting.js";

/** Speech synthesis program and its arguments, from text to WAV; undefined: none. */
export const speechCommand = command(
	"SPEECH_COMMAND",
	"espeak-ng --stdout",
	"text-to-speech program, such as `espeak-ng --stdout`; see [Speech](announcements/README.md#sounds-speech-and-other-formats)",
);

/** Decoder program and its arguments, from a file to WAV; undefined: none. */
export const decodeCommand = command(
	"DECODE_COMMAND",
	"ffmpeg -i {file} -f wav -",
	"decoder for sounds other than WAV, such as `ffmpeg`; see [Speech](announcements/README.md#sounds-speech-and-other-formats)",
);

/** Parses a command of words separated by spaces, or in double quotes. No shell is involved. */
function command(name: string, example: string, description: string): Setting<readonly string[] | undefined> {
	return {
		variables: { [name]: { description } },
		read: (environment) => {
			const text = readUnquoted(environment, name);
			if (text === undefined) return undefined;
			const words = [...text.matchAll(/"([^"]*)"|[^\s"]+/g)].map(([word, quoted]) => quoted ?? word);
			const rest = text.replaceAll(/"[^"]*"|[^\s"]+/g, "").trim();
			const [program] = words;
			if (!program || rest !== "")
				throw new StartError(
					`${name} is invalid. Set it to a program with its arguments, such as ${example}.`,
				);
			if (!isProgram(program, environment.PATH))
				throw new StartError(`${name}: program "${program}" not found. Install it or correct the setting.`);
			return words;
		},
	};
}
