/** Terminal interaction: questions are answered with a number or the beginning of a word. */

import { createInterface } from "node:readline/promises";
import { printableLines } from "../../gateway/telemetry/printable.js";
import type { Person, Reading } from "./step.js";

export class Terminal implements Person {
	readonly #readline = createInterface({
		input: process.stdin,
		output: process.stdout,
		terminal: process.stdin.isTTY,
	});

	print(text: string): void {
		console.log(printableLines(text));
	}

	async choose<const C extends readonly string[]>(question: string, choices: C): Promise<C[number]> {
		const list = choices.map((choice, index) => `${index + 1} ${choice}`).join(", ");
		for (;;) {
			const typed = (await this.prompt(`${question} [${list}]`)).toLowerCase();
			// Enter selects the first choice.
			const chosen = choices.find(
				(choice, index) =>
					typed === String(index + 1) ||
					(typed === "" && index === 0) ||
					(typed !== "" && choice.startsWith(typed)),
			);
			if (chosen !== undefined) return chosen;
			this.print(`Type a number from 1 to ${choices.length}, or the beginning of a word.`);
		}
	}

	async prompt(question: string): Promise<string> {
		return (await this.#readline.question(`${question} `)).trim();
	}

	async watch<T>(question: string, read: () => Promise<Reading<T>>): Promise<T | undefined> {
		this.print(question);
		const stop = new AbortController();
		let isPressed = false;
		const pressed = this.#readline.question("", { signal: stop.signal }).then(
			() => {
				isPressed = true;
			},
			() => {},
		);
		try {
			while (!isPressed) {
				const { text, result } = await read();
				if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K  ${text}`);
				if (result !== undefined) return result;
				// Gives readline time to process input.
				await new Promise((resolve) => setTimeout(resolve, 50));
			}
			return undefined;
		} finally {
			stop.abort();
			await pressed;
			if (process.stdout.isTTY) process.stdout.write("\n");
		}
	}

	close(): void {
		this.#readline.close();
	}
}
