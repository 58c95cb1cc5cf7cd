/** Streaming parser for the HTTP response head of a WebSocket upgrade. */

/** Longer header lines are skipped. */
const longestLine = 128;
const longestHeadBytes = 8 * 1024;
const lineFeed = 10;

export class ResponseHead {
	#line = "";
	#byteCount = 0;
	#status: number | undefined;
	#retryAfterSeconds: number | undefined;
	#date: string | undefined;
	#isOver = false;

	/** Status code; 0 if the response is not HTTP, undefined before the end of the status line. */
	get status(): number | undefined {
		return this.#status;
	}

	/** Retry-After (RFC 9110, 10.2.3) if given in seconds. */
	get retryAfterSeconds(): number | undefined {
		return this.#retryAfterSeconds;
	}

	/** Unparsed Date field (RFC 9110, 6.6.1). */
	get date(): string | undefined {
		return this.#date;
	}

	/** Whether the head is complete or too long. */
	get isOver(): boolean {
		return this.#isOver;
	}

	read(byte: number): void {
		if (this.#isOver) return;
		this.#byteCount += 1;
		if (byte === lineFeed) this.#endLine();
		else if (this.#line.length <= longestLine) this.#line += String.fromCharCode(byte);
		else if (this.#status === undefined) this.#status = 0;
		if (this.#byteCount >= longestHeadBytes) this.#isOver = true;
	}

	#endLine(): void {
		const line = this.#line.endsWith("\r") ? this.#line.slice(0, -1) : this.#line;
		this.#line = "";
		if (this.#status === undefined)
			this.#status = Number(/^HTTP\/1\.\d ([1-9]\d\d)(?: |$)/.exec(line)?.[1] ?? 0);
		else if (line === "") this.#isOver = true;
		else if (line.length <= longestLine) this.#readField(line);
	}

	#readField(line: string): void {
		const seconds = /^retry-after:[ \t]*(\d{1,9})[ \t]*$/i.exec(line)?.[1];
		if (seconds !== undefined) this.#retryAfterSeconds = Number(seconds);
		this.#date = /^date:[ \t]*(.*)$/i.exec(line)?.[1] ?? this.#date;
	}
}
