/** Collects problems, so that a command can name all of them before it builds for minutes. */

import { messageOf, UsageError } from "./command.js";

export class Problems {
	readonly #sentences: string[] = [];
	#isUsageWrong = false;

	get areFound(): boolean {
		return this.#sentences.length > 0;
	}

	/** @param sentence undefined: no problem */
	add(sentence: string | undefined): void {
		if (sentence !== undefined && !this.#sentences.includes(sentence)) this.#sentences.push(sentence);
	}

	/** @returns the result; undefined if the action threw, which is a problem */
	attempt<T>(action: () => T): T | undefined {
		try {
			return action();
		} catch (error) {
			this.add(messageOf(error));
			this.#isUsageWrong ||= error instanceof UsageError;
			return undefined;
		}
	}

	/** One line per problem; a UsageError if one was. */
	asError(): Error {
		const message = this.#sentences.join("\n");
		return this.#isUsageWrong ? new UsageError(message) : new Error(message);
	}
}
