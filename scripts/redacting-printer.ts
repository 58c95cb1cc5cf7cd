/** Prints what a tool says, with dots in the place of what is secret: a failed build may show how it was called. */

export interface RedactingPrinterOptions {
	readonly secrets: readonly string[];
	/** A whole line. */
	readonly print: (line: string) => void;
}

export class RedactingPrinter {
	readonly #options: RedactingPrinterOptions;
	/** Of a line that is not whole yet: a secret may be cut in two. */
	#rest = "";

	constructor(options: RedactingPrinterOptions) {
		this.#options = options;
	}

	/** @param text a piece of the output, cut anywhere */
	write(text: string): void {
		const lines = (this.#rest + text).split("\n");
		this.#rest = lines.pop() ?? "";
		for (const line of lines) this.#print(line);
	}

	/** The output is over. */
	end(): void {
		if (this.#rest !== "") this.#print(this.#rest);
		this.#rest = "";
	}

	#print(line: string): void {
		const { secrets, print } = this.#options;
		// The longest first: one may be part of another.
		const ordered = [...secrets].sort((one, other) => other.length - one.length);
		print(ordered.reduce((shown, secret) => shown.replaceAll(secret, "•••"), line));
	}
}
