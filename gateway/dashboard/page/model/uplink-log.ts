/** Bounded log of one device: its messages and trace lines, the newest last. */

import type { StateReport, Uplink, UplinkType } from "../../../../device/protocol/messages.js";

export interface Line {
	readonly number: number;
	/** Milliseconds since 1970, by the gateway's clock. */
	readonly at: number;
	readonly type: UplinkType;
	/** Unparsed uplink; for type `log`, one trace line. */
	readonly text: string;
	/** Uplink with the previous report, for its summary; absent for a trace line. */
	readonly parsed?: readonly [uplink: Uplink, before: StateReport | null];
}

const linesKept = 500;

export class UplinkLog {
	#lines: readonly Line[] = [];

	/** Lines; a new array after each change. */
	get lines(): readonly Line[] {
		return this.#lines;
	}

	add(line: Omit<Line, "number">): void {
		const number = (this.#lines.at(-1)?.number ?? 0) + 1;
		this.#lines = [...this.#lines.slice(1 - linesKept), { ...line, number }];
	}
}
