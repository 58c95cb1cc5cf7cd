/** Client of the bring-up program on a board, over its serial port. */

import { describeProblem, findProblem, isRecord, matches } from "../../device/protocol/schema.js";
import {
	type Answer,
	answerMark,
	type RequestName,
	type RequestParams,
	requests,
} from "../../hosts/esp32/bring-up/requests.js";
import type { SerialPort } from "../boards/serial.js";

interface BoardOptions {
	/** Serial port, or a substitute. */
	readonly line: Pick<SerialPort, "write">;
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
	#onAnswer: (message: Readonly<Record<string, unknown>>) => void = () => {};
	#lastId = 0;

	constructor(options: BoardOptions) {
		this.#options = options;
	}

	/** Processes a line of the serial port. */
	receive(line: string): void {
		const at = line.indexOf(`${answerMark}{`);
		const message = at < 0 ? undefined : parsed(line.slice(at + answerMark.length));
		if (!isRecord(message)) return this.#options.onLog(line);
		this.#onAnswer(message);
	}

	/** Polls until the program responds, since requests before its start are lost. @throws Error */
	async waitUntilReady(): Promise<void> {
		for (let waitedMs = 0; waitedMs < requestTimeoutMs; waitedMs += retryMs) {
			try {
				await this.#send("about", {}, retryMs);
				return;
			} catch {
				// The program has not started yet.
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

	/** Sends one request at a time. @throws Error with the failure of the device, or after a timeout */
	#send(request: RequestName, ask: object, limitMs: number): Promise<unknown> {
		this.#lastId += 1;
		const id = this.#lastId;
		return new Promise((resolve, reject) => {
			const late = `No response to "${request}" within ${limitMs / 1000} s. Press the reset button and repeat the step`;
			const timer = setTimeout(() => reject(new Error(late)), limitMs);
			this.#onAnswer = (message) => {
				// A late response to an earlier request.
				if (message.id !== id) return;
				clearTimeout(timer);
				if (typeof message.error === "string") reject(new Error(message.error));
				else resolve(message.answer);
			};
			this.#options.line.write(JSON.stringify({ id, request, ask }));
		});
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
