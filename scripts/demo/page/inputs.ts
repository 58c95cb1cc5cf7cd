/** Sends inputs to a board in their order, one at a time, so that a release never overtakes its press. */

import { ask, messageOf } from "../../../gateway/api/client/request.js";
import type { BoardInput } from "../../../hosts/virtual/node/input.js";

/** The firmware takes a level once it was stable for 20 ms. */
const leastMs = 40;

interface Waiting {
	readonly input: BoardInput;
	readonly onSent: () => void;
}

export class BoardInputs {
	readonly #path: string;
	readonly #onProblem: (problem: string) => void;
	readonly #waiting: Waiting[] = [];
	#isSending = false;

	/** @param path of the board. @param onProblem called with "" when an input was taken */
	constructor(path: string, onProblem: (problem: string) => void) {
		this.#path = path;
		this.#onProblem = onProblem;
	}

	/** @returns resolves once it was sent, or a newer value of the same slider has taken its place */
	send(input: BoardInput): Promise<void> {
		const last = this.#waiting.at(-1);
		if (last && isNewer(input, last.input)) this.#waiting.pop()?.onSent();
		return new Promise((onSent) => {
			this.#waiting.push({ input, onSent });
			if (!this.#isSending) void this.#sendAll();
		});
	}

	async #sendAll(): Promise<void> {
		this.#isSending = true;
		for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
			await ask(`${this.#path}/input`, { method: "POST", body: next.input }).then(
				() => this.#onProblem(""),
				(error: unknown) => this.#onProblem(messageOf(error)),
			);
			next.onSent();
			await new Promise((resolve) => setTimeout(resolve, leastMs));
		}
		this.#isSending = false;
	}
}

function isNewer(input: BoardInput, waiting: BoardInput): boolean {
	return ("light" in input && "light" in waiting) || ("rssi" in input && "rssi" in waiting);
}
