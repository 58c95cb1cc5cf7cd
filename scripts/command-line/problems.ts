/** A list of problems: a command that takes minutes checks everything first, and names everything that is missing at once. */

import { messageOf, UsageError } from "./command.js";

export class Problems {
	readonly #sentences: string[] = [];
	#isUsageWrong = false;

	get areFound(): boolean {
		return this.#sentences.length > 0;
	}

	/** @param sentence undefined: there is no problem */
	add(sentence: string | undefined): void {
		if (sentence !== undefined) this.#sentences.push(sentence);
	}

	/** @returns the action's result; undefined where it threw, which is then a problem */
	attempt<T>(action: () => T): T | undefined {
		try {
			return action();
		} catch (error) {
			this.add(messageOf(error));
			this.#isUsageWrong ||= error instanceof UsageError;
			return undefined;
		}
	}

	/** All problems as one error, one line each; a UsageError where the command line is among them. */
	asError(): Error {
		const message = this.#sentences.join("\n");
		return this.#isUsageWrong ? new UsageError(message) : new Error(message);
	}
}
