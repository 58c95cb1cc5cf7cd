/** Log of a run, and the first broken invariant. */

import { appendFileSync } from "node:fs";

const linesShown = 25;

export class Journal {
	readonly #file: string;
	readonly #lines: string[] = [];
	readonly #counts = new Map<string, number>();
	readonly #startedAt = performance.now();
	#broken: Error | undefined;

	/** @param file receives each line */
	constructor(file: string) {
		this.#file = file;
	}

	note(line: string): void {
		const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(2);
		this.#lines.push(`${seconds.padStart(7)} s  ${line}`);
		if (this.#lines.length > linesShown) this.#lines.shift();
		appendFileSync(this.#file, `${seconds} ${line}\n`);
	}

	/** Counts an event for the summary. */
	count(what: string): void {
		this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
	}

	/** Counts of all events. */
	get summary(): string {
		return [...this.#counts].map(([what, count]) => `${what}: ${count}`).join(", ");
	}

	/** Reports a broken invariant; only the first one counts. */
	break(sentence: string): void {
		if (this.#broken) return;
		this.note(`BROKEN: ${sentence}`);
		this.#broken = new Error(`broken invariant: ${sentence}`);
	}

	/** @throws Error with the first broken invariant */
	check(): void {
		if (this.#broken) throw this.#broken;
	}

	/** Last lines of the log. */
	get lastLines(): string {
		return this.#lines.join("\n");
	}
}
