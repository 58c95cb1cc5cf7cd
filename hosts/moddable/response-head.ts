/** Streaming parser of an HTTP response head, for WebSocket upgrades. */

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

	/** 0 if it is not HTTP; undefined before the end of the first line. */
	get status(): number | undefined {
		return this.#status;
	}

	/** Retry-After (RFC 9110, 10.2.3), if it is a number of seconds. */
	get retryAfterSeconds(): number | undefined {
		return this.#retryAfterSeconds;
	}

	/** Date (RFC 9110, 6.6.1), as it was sent. */
	get date(): string | undefined {
		return this.#date;
	}

	/** The head ended, or is too long. */
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
