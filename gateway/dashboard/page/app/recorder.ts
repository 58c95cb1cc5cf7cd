/** Records messages of the devices that were shown, for the log. */

import type { StateReport, Uplink, UplinkType } from "../../../../device/protocol/messages.js";
import { newLines } from "../../../api/client/trace-lines.js";

/** Message, or line of the live log. */
export interface Line {
	readonly number: number;
	/** Milliseconds since 1970, by the gateway's clock. */
	readonly at: number;
	readonly type: UplinkType;
	/** JSON of the uplink; for type `log`, one trace line. */
	readonly text: string;
	/** Uplink with the previous report, for its summary; absent for a trace line. */
	readonly parsed?: readonly [uplink: Uplink, before: StateReport | null];
}

export interface Record {
	/** The newest last; a new array after each change. */
	lines: readonly Line[];
	/** Last line of the live log. */
	readonly trace: { last: { readonly text: string } | undefined };
}

/** Number of recorded devices; the least recently shown is evicted. */
const recordsKept = 8;
const linesKept = 500;

export class Recorder {
	readonly #records = new Map<string, Record>();

	/** Starts or continues to record a device. */
	watch(key: string): Record {
		const record = this.#records.get(key) ?? { lines: [], trace: { last: undefined } };
		this.#records.delete(key);
		this.#records.set(key, record);
		const [oldest] = this.#records.keys();
		if (this.#records.size > recordsKept && oldest !== undefined) this.#records.delete(oldest);
		return record;
	}

	/** Keys of the recorded devices. */
	keys(): Iterable<string> {
		return this.#records.keys();
	}

	/** @param before previous report. @returns whether the device is recorded */
	record(key: string, uplink: Uplink, now: number, before: StateReport | null): boolean {
		const record = this.#records.get(key);
		if (!record) return false;
		const add = (line: Omit<Line, "number" | "at">) => {
			const number = (record.lines.at(-1)?.number ?? 0) + 1;
			record.lines = [...record.lines.slice(1 - linesKept), { ...line, number, at: now }];
		};
		if (uplink.type === "log") {
			for (const line of newLines(record.trace, uplink)) {
				record.trace.last = { text: line };
				add({ type: "log", text: line });
			}
			return true;
		}
		add({ type: uplink.type, text: JSON.stringify(uplink), parsed: [uplink, before] });
		return true;
	}
}
