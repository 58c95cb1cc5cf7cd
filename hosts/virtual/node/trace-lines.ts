/** Buffer of the last complete lines of the trace. */

/** Size on a board (hosts/esp32/board-crash.c). */
const traceBytes = 2000;

export class TraceLines {
	/** Complete lines kept. */
	#all = "";
	#incomplete = "";
	#lineCount = 0;

	/** Number of complete lines since the start. */
	get lineCount(): number {
		return this.#lineCount;
	}

	/** Complete lines kept. */
	get all(): string {
		return this.#all;
	}

	/** Adds text of any length. A line is kept once it is complete. */
	write(text: string): void {
		const lines = `${this.#incomplete}${asPlainText(text)}`.split("\n");
		this.#incomplete = (lines.pop() ?? "").slice(-traceBytes);
		if (lines.length === 0) return;
		this.#lineCount += lines.length;
		this.#all = lastLines(`${this.#all}${lines.join("\n")}\n`);
	}

	/** @returns the newest complete lines, at most `count` */
	read(count: number): string {
		const lines = this.#all.split("\n").slice(0, -1);
		return lines
			.slice(Math.max(0, lines.length - count))
			.map((line) => `${line}\n`)
			.join("");
	}
}

/** Replaces all characters except printable ASCII and line feeds. */
export function asPlainText(text: string): string {
	return text.replaceAll(/[^\n\x20-\x7e]/g, "?");
}

function lastLines(text: string): string {
	if (text.length <= traceBytes) return text;
	// The first line is complete only if the previous one ends right before it.
	const start = text.indexOf("\n", text.length - traceBytes - 1) + 1;
	return text.slice(start);
}
