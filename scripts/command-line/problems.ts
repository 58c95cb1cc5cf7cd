/** Collects problems, so that a command can name everything that is missing at once, before it builds for minutes. */

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

	/** @returns the action's result; undefined where it threw, which is a problem */
	attempt<T>(action: () => T): T | undefined {
		try {
			return action();
		} catch (error) {
			this.add(messageOf(error));
			this.#isUsageWrong ||= error instanceof UsageError;
			return undefined;
		}
	}

	/** One line for each problem; a UsageError where one was. */
	asError(): Error {
		const message = this.#sentences.join("\n");
		return this.#isUsageWrong ? new UsageError(message) : new Error(message);
	}
}
