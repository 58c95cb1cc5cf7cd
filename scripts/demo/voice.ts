/** Finds a text-to-speech program for the demo. */

import { fileURLToPath } from "node:url";
import { isProgram } from "../../gateway/program.js";

/** `say` of macOS writes WAV to files only. */
const sayScript = fileURLToPath(new URL("say-to-wav.ts", import.meta.url));

/**
 * Adds SPEECH_COMMAND for `espeak-ng` or `say`, whichever is installed.
 * @param environment kept as it is if it has a voice, or if there is none
 */
export function withVoice(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
	const { SPEECH_COMMAND, PATH } = environment;
	if (SPEECH_COMMAND?.trim()) return environment;
	if (isProgram("espeak-ng", PATH)) return { ...environment, SPEECH_COMMAND: "espeak-ng --stdout" };
	if (isProgram("say", PATH))
		return { ...environment, SPEECH_COMMAND: `"${process.execPath}" --import tsx "${sayScript}"` };
	return environment;
}
