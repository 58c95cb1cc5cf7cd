/** The bring-up program on a board, asked over its serial port. */

import { describeProblem, findProblem, isRecord, matches } from "../../device/protocol/schema.js";
import {
	type Answer,
	type Ask,
	answerMark,
	type RequestName,
	requests,
} from "../../hosts/esp32/bring-up/requests.js";

/** A serial port, or what stands for one. */
export interface SerialLine {
	/** @param line without its end of line */
	write(line: string): void;
}

export interface BoardOptions {
	readonly line: SerialLine;
	/** A line of the device's log. */
	readonly onLog: (line: string) => void;
}

interface Waiting {
	readonly resolve: (answer: unknown) => void;
	readonly reject: (error: Error) => void;
	readonly timer: NodeJS.Timeout;
}

const silent =
	"the bring-up program does not answer on the serial port: press the board's reset button; if it stays silent, hold BOOT, press and release RESET, let go of BOOT, and begin again without keep";

/** Longer than the longest request takes: Wi-Fi with a wrong password, or a TLS handshake. */
const longestAnswerMs = 30_000;
const retryMs = 2_000;

export class BringUpBoard {
	readonly #options: BoardOptions;
	readonly #waiting = new Map<number, Waiting>();
	readonly #starts: (() => void)[] = [];
	#lastId = 0;
	/** Why nothing can be asked any more. */
	#end: string | undefined;

	constructor(options: BoardOptions) {
		this.#options = options;
	}

	/** Takes a line that the serial port has received. */
	receive(line: string): void {
		const at = line.indexOf(`${answerMark}{`);
		const message = at < 0 ? undefined : parsed(line.slice(at + answerMark.length));
		if (!isRecord(message)) return this.#options.onLog(line);
		if (message.ready === true) {
			for (const onStart of this.#starts.splice(0)) onStart();
			return;
		}
		const waiting = this.#waiting.get(Number(message.id));
		if (!waiting) return;
		this.#waiting.delete(Number(message.id));
		clearTimeout(waiting.timer);
		if (typeof message.error === "string") waiting.reject(new Error(message.error));
		else waiting.resolve(message.answer);
	}

	/** The serial port has ended: what is waited for fails. */
	end(reason: string): void {
		this.#end = reason;
		for (const { reject, timer } of this.#waiting.values()) {
			clearTimeout(timer);
			reject(new Error(reason));
		}
		this.#waiting.clear();
	}

	/** Settles when the program starts the next time. @throws Error where it does not within 30 s */
	started(): Promise<void> {
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => reject(new Error(silent)), longestAnswerMs).unref();
			this.#starts.push(() => {
				clearTimeout(timer);
				resolve();
			});
		});
	}

	/** Settles when the program answers: what is asked before it has started is lost. @throws Error */
	async reach(): Promise<void> {
		for (let waitedMs = 0; waitedMs < longestAnswerMs; waitedMs += retryMs) {
			try {
				await this.#send("about", {}, retryMs);
				return;
			} catch (error) {
				if (this.#end !== undefined) throw error;
			}
		}
		throw new Error(silent);
	}

	/** @throws Error that says what the device could not do, or that it did not answer */
	async ask<N extends RequestName>(name: N, ask: Ask<N>): Promise<Answer<N>> {
		const answer = await this.#send(name, ask, longestAnswerMs);
		const schema: (typeof requests)[N]["answer"] = requests[name].answer;
		if (matches(schema, answer)) return answer;
		throw new Error(
			`the board's answer to "${name}" is not understood: ${describeProblem(findProblem(schema, answer))}`,
		);
	}

	#send(request: RequestName, ask: object, limitMs: number): Promise<unknown> {
		if (this.#end !== undefined) return Promise.reject(new Error(this.#end));
		this.#lastId += 1;
		const id = this.#lastId;
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => {
				this.#waiting.delete(id);
				reject(
					new Error(
						`the board did not answer "${request}" within ${limitMs / 1000} s: press its reset button, and repeat the step`,
					),
				);
			}, limitMs);
			this.#waiting.set(id, { resolve, reject, timer });
			this.#options.line.write(JSON.stringify({ id, request, ask }));
		});
	}
}

/** @returns undefined if the line was cut, as by a restart */
function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
