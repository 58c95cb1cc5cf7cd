/** The last lines that a firmware traced, without a limit to what it traces. */

/** As on a board (hosts/esp32/board-crash.c). */
const traceBytes = 2000;

export class TraceLines {
	/** Complete lines. */
	#all = "";
	#incomplete = "";
	#lineCount = 0;

	/** Complete lines, since the start. */
	get lineCount(): number {
		return this.#lineCount;
	}

	/** The complete lines that are kept. */
	get all(): string {
		return this.#all;
	}

	/** @param text of any length: a line is kept when it is complete */
	write(text: string): void {
		const lines = `${this.#incomplete}${asPlainText(text)}`.split("\n");
		this.#incomplete = (lines.pop() ?? "").slice(-traceBytes);
		if (lines.length === 0) return;
		this.#lineCount += lines.length;
		this.#all = lastLines(`${this.#all}${lines.join("\n")}\n`);
	}

	/** @returns the newest `count` complete lines, as many of them as are kept */
	read(count: number): string {
		const lines = this.#all.split("\n").slice(0, -1);
		return lines
			.slice(Math.max(0, lines.length - count))
			.map((line) => `${line}\n`)
			.join("");
	}
}

/** In ASCII, without control characters but line feeds. */
export function asPlainText(text: string): string {
	return text.replaceAll(/[^\n\x20-\x7e]/g, "?");
}

function lastLines(text: string): string {
	if (text.length <= traceBytes) return text;
	// The first line is whole only if the one before it ends just there.
	const start = text.indexOf("\n", text.length - traceBytes - 1) + 1;
	return text.slice(start);
}
