/** Client of the bring-up program on a board, over its serial port. */

import { EventEmitter, once } from "node:events";
import { describeProblem, findProblem, isRecord, matches } from "../../device/protocol/schema.js";
import {
	type Answer,
	answerMark,
	type RequestName,
	type RequestParams,
	requests,
} from "../../hosts/esp32/bring-up/requests.js";

/** Serial port, or a substitute. */
export interface SerialLine {
	/** @param line text without line end */
	write(line: string): void;
}

interface BoardOptions {
	readonly line: SerialLine;
	/** Called with each line of the log. */
	readonly onLog: (line: string) => void;
}

const silent =
	"The bring-up program does not respond on the serial port. Press the reset button. If it still does not respond, hold BOOT, press and release RESET, release BOOT, and start again without keep";

/** Timeout of a request, and of the start of the program. */
const requestTimeoutMs = 30_000;
const retryMs = 2_000;

export class BringUpBoard {
	readonly #options: BoardOptions;
	/** Events: `answer` with the id of its request, and `end`. */
	readonly #events = new EventEmitter();
	/** Reason why the connection ended. */
	#end: string | undefined;
	#lastId = 0;

	constructor(options: BoardOptions) {
		this.#options = options;
	}

	/** Processes a line of the serial port. */
	receive(line: string): void {
		const at = line.indexOf(`${answerMark}{`);
		const message = at < 0 ? undefined : parsed(line.slice(at + answerMark.length));
		if (!isRecord(message)) return this.#options.onLog(line);
		this.#events.emit(`answer ${message.id}`, message);
	}

	/** Fails pending requests after the serial port was closed. */
	end(reason: string): void {
		this.#end = reason;
		this.#events.emit("end");
	}

	/** Polls until the program responds, since requests before its start are lost. @throws Error */
	async waitUntilReady(): Promise<void> {
		for (let waitedMs = 0; waitedMs < requestTimeoutMs; waitedMs += retryMs) {
			try {
				await this.#send("about", {}, retryMs);
				return;
			} catch (error) {
				if (this.#end !== undefined) throw error;
			}
		}
		throw new Error(silent);
	}

	/** @throws Error with the failure of the device, or after a timeout */
	async request<N extends RequestName>(name: N, ask: RequestParams<N>): Promise<Answer<N>> {
		const answer = await this.#send(name, ask, requestTimeoutMs);
		const schema: (typeof requests)[N]["answer"] = requests[name].answer;
		if (matches(schema, answer)) return answer;
		throw new Error(
			`Invalid response of the board to "${name}": ${describeProblem(findProblem(schema, answer))}`,
		);
	}

	/** @throws Error with the failure of the device, after a timeout or the end of the serial port */
	async #send(request: RequestName, ask: object, limitMs: number): Promise<unknown> {
		if (this.#end !== undefined) throw new Error(this.#end);
		this.#lastId += 1;
		const id = this.#lastId;
		const over = new AbortController();
		const stop = () => over.abort();
		const timer = setTimeout(stop, limitMs);
		this.#events.once("end", stop);
		const answered = once(this.#events, `answer ${id}`, { signal: over.signal }).catch(() => {
			const late = `No response to "${request}" within ${limitMs / 1000} s. Press the reset button and repeat the step`;
			throw new Error(this.#end ?? late);
		});
		this.#options.line.write(JSON.stringify({ id, request, ask }));
		const [{ error, answer }] = await answered.finally(() => {
			clearTimeout(timer);
			this.#events.off("end", stop);
		});
		if (typeof error === "string") throw new Error(error);
		return answer;
	}
}

/** @returns undefined for a truncated line, such as after a restart */
function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
