/**
 * How a command begins that builds the firmware with the Moddable SDK: it says everything that is missing, and all at
 * once, since a build that fails for one of it takes minutes and says it in other words.
 */

import { findDeviceToken } from "../../hosts/virtual/node/device-token.js";

/** What is wrong with the words of a command: one sentence each. */
export class ArgumentProblems extends Error {
	readonly sentences: readonly string[];

	constructor(sentences: readonly string[]) {
		super(sentences.join("\n"));
		this.sentences = sentences;
	}
}

/** What stops a command, in the order in which it was found. */
export class Problems {
	readonly #sentences: string[] = [];
	#isAboutArguments = false;

	get sentences(): readonly string[] {
		return this.#sentences;
	}

	/** @param sentence undefined: nothing is wrong */
	add(sentence: string | undefined): void {
		if (sentence !== undefined) this.#sentences.push(sentence);
	}

	/** @returns what `action` does, or undefined where it threw: that is a problem then */
	attempt<T>(action: () => T): T | undefined {
		try {
			return action();
		} catch (error) {
			this.add(error instanceof Error ? error.message : String(error));
			this.#isAboutArguments ||= error instanceof ArgumentProblems;
			return undefined;
		}
	}

	/** All of them in one, with the usage where the words of the command are among them. */
	asError(usage: string): Error {
		return new Error([...this.#sentences, ...(this.#isAboutArguments ? ["", usage] : [])].join("\n"));
	}
}

/** Runs a command with its words. What stops it is printed as a sentence, and the exit code is 1. */
export async function runCommand(run: (words: readonly string[]) => Promise<void>): Promise<void> {
	try {
		await run(process.argv.slice(2));
	} catch (error) {
		console.error(error instanceof Error ? error.message : error);
		process.exitCode = 1;
	}
}

/** The device token of the gateway on this computer. @throws Error that says how to come by one */
export function findToken(): string {
	return findDeviceToken(process.env.DATA_DIR || "data");
}
