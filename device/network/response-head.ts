/** Streaming parser for the head of an HTTP response (RFC 9112, 4 and 5). */

/** Longer header lines are skipped. */
const maxLineBytes = 512;
const maxHeadBytes = 8 * 1024;

export class ResponseHead {
	/** Status code; 0 if the response is not HTTP, undefined before the end of the status line. */
	status: number | undefined;
	/** Wanted fields by name. */
	readonly fields = new Map<string, string>();
	/** Whether the head is complete, or is not HTTP. */
	isOver = false;
	readonly #wanted: readonly string[];
	#line = "";
	#byteCount = 0;

	/** @param wanted names of fields in lower case */
	constructor(wanted: readonly string[]) {
		this.#wanted = wanted;
	}

	/** @param text up to and including a line feed, or a part of a line */
	read(text: string): void {
		this.#byteCount += text.length;
		if (this.#line.length <= maxLineBytes) this.#line += text;
		if (text.endsWith("\n")) this.#endLine();
		if (this.#byteCount <= maxHeadBytes) return;
		this.status ??= 0;
		this.isOver = true;
	}

	#endLine(): void {
		// trimEnd() of XS 13.3 keeps a text that is only white space.
		const line = this.#line.trim();
		this.#line = "";
		if (this.status === undefined) {
			this.status = Number(/^HTTP\/1\.\d ([1-9]\d\d)(?: |$)/.exec(line)?.[1] ?? 0);
			this.isOver = this.status === 0;
		} else if (line === "") {
			this.isOver = this.status === 101 || this.status >= 200;
			// Another head follows an interim response (RFC 9110, 15.2).
			if (!this.isOver) this.status = undefined;
		} else if (line.length <= maxLineBytes) this.#readField(line);
	}

	#readField(line: string): void {
		const colon = line.indexOf(":");
		const name = line.slice(0, Math.max(0, colon)).toLowerCase();
		if (this.#wanted.includes(name)) this.fields.set(name, line.slice(colon + 1).trim());
	}
}
