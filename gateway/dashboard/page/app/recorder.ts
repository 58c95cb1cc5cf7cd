/** Records messages of the devices that were shown, for plots and the log. */

import type { StateReport, Uplink } from "../../../../device/protocol/messages.js";
import { newLines } from "../../../api/client/trace-lines.js";
import { Series } from "../model/series.js";
import { UplinkLog } from "../model/uplink-log.js";

export interface Record {
	readonly series: Series;
	/** Messages and lines of the live log. */
	readonly log: UplinkLog;
	/** Last line of the live log. */
	readonly trace: { last: { readonly text: string } | undefined };
}

/** Number of recorded devices; the least recently shown is evicted. */
const recordsKept = 8;

export class Recorder {
	readonly #records = new Map<string, Record>();

	/** Starts or continues to record a device. */
	watch(key: string): Record {
		const record = this.#records.get(key) ?? {
			series: new Series(),
			log: new UplinkLog(),
			trace: { last: undefined },
		};
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
	record(key: string, uplink: Uplink, text: string, now: number, before: StateReport | null): boolean {
		const record = this.#records.get(key);
		if (!record) return false;
		if (uplink.type === "log") {
			for (const line of newLines(record.trace, uplink)) {
				record.trace.last = { text: line };
				record.log.add({ type: "log", text: line, at: now });
			}
			return true;
		}
		record.log.add({ type: uplink.type, text, at: now, parsed: [uplink, before] });
		if (uplink.type === "state_report") record.series.add(uplink, now);
		return true;
	}
}
