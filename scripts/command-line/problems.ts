/** Collects problems, so that a command can name all of them before it builds for minutes. */

import { messageOf, UsageError } from "./command.js";
import { describeProblem, type Found, isProblem, type ToolProblem } from "./machine.js";

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
			return undefined;
		}
	}

	/** @returns the tool; undefined if it is missing or wrong, which is a problem */
	need<T extends Found>(found: T | ToolProblem): T | undefined {
		if (!isProblem(found)) return found;
		this.add(describeProblem(found));
		return undefined;
	}

	/** To be called after the command line was read: what was found so far is a wrong use of the command. */
	endOfUsage(): void {
		this.#isUsageWrong = this.areFound;
	}

	/** One line per problem; a UsageError if the use of the command is wrong. */
	asError(): Error {
		const message = this.#sentences.join("\n");
		return this.#isUsageWrong ? new UsageError(message) : new Error(message);
	}
}
