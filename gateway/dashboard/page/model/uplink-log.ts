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
	#heard = 0;
	#paused: readonly Line[] | undefined;

	add(line: Omit<Line, "number">): void {
		this.#heard += 1;
		this.#lines = [...this.#lines.slice(1 - linesKept), { ...line, number: this.#heard }];
	}

	get isPaused(): boolean {
		return this.#paused !== undefined;
	}

	/** What is shown stands still; what comes meanwhile is kept. */
	set isPaused(isPaused: boolean) {
		this.#paused = isPaused ? this.#lines : undefined;
	}

	/** How many came since it was paused. */
	get missed(): number {
		return this.#paused ? this.#heard - (this.#paused.at(-1)?.number ?? 0) : 0;
	}

	/** The lines of that type (empty: any) that contain `search`, whatever its case. */
	lines(type: string, search: string): readonly Line[] {
		const word = search.toLowerCase();
		return (this.#paused ?? this.#lines).filter(
			(line) =>
				(type === "" || line.type === type) && `${line.words}\n${line.text}`.toLowerCase().includes(word),
		);
	}
}
