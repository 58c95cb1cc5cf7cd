/** What one device said, and what it traced, word by word, the newest last; only so much of it that a page can stay open for days. */

import type { UplinkType } from "../../../../device/protocol/messages.js";

export interface Line {
	readonly number: number;
	/** Milliseconds since 1970, by the gateway's clock. */
	readonly at: number;
	readonly type: UplinkType;
	/** The uplink as it came; of type `log` one traced line. */
	readonly text: string;
	/** What it says, in a few words. */
	readonly words: string;
}

const linesKept = 500;

export class UplinkLog {
	#lines: readonly Line[] = [];

	/** Another array with each line. */
	get lines(): readonly Line[] {
		return this.#lines;
	}

	add(line: Omit<Line, "number">): void {
		const number = (this.#lines.at(-1)?.number ?? 0) + 1;
		this.#lines = [...this.#lines.slice(1 - linesKept), { ...line, number }];
	}
}
