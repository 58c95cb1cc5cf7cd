/** Collects problems, so that a command reports all of them before a long build. */

import { messageOf } from "../../device/message-of.js";
import type { UsageError } from "./command.js";
import { ToolError } from "./machine.js";

export class Problems {
	readonly #sentences: string[] = [];

	get areFound(): boolean {
		return this.#sentences.length > 0;
	}

	/** @param sentence undefined adds nothing */
	add(sentence: string | undefined): void {
		if (sentence !== undefined && !this.#sentences.includes(sentence)) this.#sentences.push(sentence);
	}

	/** Runs an action and adds its error as a problem. @returns the result; undefined after an error */
	attempt<T>(action: () => T): T | undefined {
		try {
			return action();
		} catch (error) {
			// A fix may be a command, which a period would change.
			this.add(error instanceof ToolError ? error.message : messageOf(error).replace(/\.?$/, "."));
			return undefined;
		}
	}

	/** Creates an error with one line per problem. */
	asError(type: ErrorConstructor | typeof UsageError = Error): Error {
		return new type(this.#sentences.join("\n"));
	}
}
