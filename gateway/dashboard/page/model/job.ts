/** Job for many devices: a command or announcement of the gateway, or a change made by this page. */

import { keysOf } from "../../../../device/protocol/schema.js";
import { capital, plural } from "../../../api/client/words.js";
import type { CommandPart } from "../../../api/command.js";
import type { CommandState } from "../../../api/statuses.js";

/** State of one device in a job. */
export interface Part {
	readonly deviceId: string;
	readonly state: string;
	/** Reason of a failure; null otherwise. */
	readonly reason: string | null;
	/** Time of the latest state change, ISO 8601. */
	readonly at: string;
}

/** Device states of one kind of job. */
export interface JobKind<S extends string> {
	/** Labels in display order, failures first. */
	readonly words: Readonly<Record<S, string>>;
	/** States of devices without a result. */
	readonly running: readonly S[];
}

export const commandKind: JobKind<CommandState> = {
	words: {
		failed: "failed",
		unsupported: "not supported",
		away: "offline",
		cancelled: "canceled",
		asked: "sent",
		waiting: "queued",
		done: "done",
	},
	running: ["asked", "waiting"],
};

export type Counts<P extends Part> = Readonly<Record<P["state"], number>>;

export interface JobOptions<P extends Part> {
	/** For example "Volume 40". */
	readonly title: string;
	readonly kind: JobKind<P["state"]>;
	/** ISO 8601. */
	readonly createdAt: string;
	/** Cancels devices that have not started. */
	readonly cancel: () => unknown;
	/** Whether the job ends when this page is closed. */
	readonly isOfPage?: boolean;
}

export class Job<P extends Part = CommandPart> {
	readonly options: JobOptions<P>;
	/** Reason why results are missing; empty otherwise. */
	problem = "";
	/** Restores what the job replaced; called at most once. */
	undo: (() => void) | undefined;
	readonly #states: readonly P["state"][];
	readonly #parts = new Map<string, P>();
	#counts: Counts<P> | undefined;

	constructor(options: JobOptions<P>) {
		this.options = options;
		this.#states = keysOf(options.kind.words);
	}

	get isRunning(): boolean {
		return this.problem === "" && this.count(...this.options.kind.running) > 0;
	}

	/** "Volume 40: 12 devices" */
	get doneText(): string {
		return `${this.options.title}: ${plural(this.count("done"), "device")}`;
	}

	/** "1 failed, sent to 2" */
	get text(): string {
		const { words } = this.options.kind;
		const texts = this.#states.map((state) => ({ count: this.count(state), words: words[state] }));
		const present = texts.filter(({ count }) => count > 0);
		const [only] = present;
		if (present.length === 1 && only?.words === "preparing") return "Preparing…";
		const text = present
			.map(({ count, words }) =>
				words === "sent" ? `sent to ${count.toLocaleString("en")}` : `${count.toLocaleString("en")} ${words}`,
			)
			.join(", ");
		return capital(text);
	}

	/** Devices by state, failures first, then by id. */
	get parts(): readonly P[] {
		const rank = (part: P) => this.#states.indexOf(part.state);
		return [...this.#parts.values()].sort((a, b) => rank(a) - rank(b) || (a.deviceId < b.deviceId ? -1 : 1));
	}

	/** Number of devices in any of these states; without arguments, of all devices. */
	count(...states: readonly P["state"][]): number {
		const counted = states.length === 0 ? this.#states : states;
		const counts = this.#counts;
		if (counts) return counted.reduce((sum, state: P["state"]) => sum + counts[state], 0);
		return [...this.#parts.values()].filter(({ state }) => counted.includes(state)).length;
	}

	/**
	 * Merges changed devices by time, since a loaded list may be older than a received frame.
	 *
	 * @param counts of all devices, including those never listed in `parts`
	 */
	merge(parts: readonly P[], counts?: Counts<P>): void {
		for (const part of parts)
			if ((this.#parts.get(part.deviceId)?.at ?? "") <= part.at) this.#parts.set(part.deviceId, part);
		const total = counts ? this.#states.reduce((sum, state: P["state"]) => sum + counts[state], 0) : 0;
		this.#counts = total > this.#parts.size ? counts : undefined;
	}
}
