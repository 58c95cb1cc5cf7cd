/** Something that is done to many devices: commands and announcements of the gateway, and changes that this page makes. */

import { keysOf } from "../../../../device/protocol/schema.js";
import type { CommandPart } from "../../../api/command.js";
import type { CommandState } from "../../../api/statuses.js";

/** A device's part of it. */
export interface Part {
	readonly deviceId: string;
	readonly state: string;
	/** Why it is not done; null otherwise. */
	readonly reason: string | null;
	/** Of the latest change of its state: ISO 8601. */
	readonly at: string;
}

/** What devices may come to. */
export interface JobKind<S extends string> {
	/** In the order in which people read them: what needs attention first. */
	readonly words: Readonly<Record<S, string>>;
	/** Of devices that have not ended. */
	readonly running: readonly S[];
}

export const commandKind: JobKind<CommandState> = {
	words: {
		failed: "failed",
		unsupported: "not supported",
		away: "away",
		cancelled: "not begun",
		asked: "asked",
		waiting: "to come",
		done: "done",
	},
	running: ["asked", "waiting"],
};

export type Counts<P extends Part> = Readonly<Record<P["state"], number>>;

export interface JobOptions<P extends Part> {
	/** Such as "Volume 40". */
	readonly title: string;
	readonly kind: JobKind<P["state"]>;
	/** ISO 8601. */
	readonly createdAt: string;
	/** Calls off what has not begun. */
	readonly cancel: () => unknown;
	/** Whether it ends with this page. */
	readonly isOfPage?: boolean;
}

export class Job<P extends Part = CommandPart> {
	readonly title: string;
	readonly kind: JobKind<P["state"]>;
	readonly createdAt: string;
	readonly cancel: () => unknown;
	readonly isOfPage: boolean;
	/** Why no more is heard of it, though not all devices have ended; empty: that is not so. */
	problem = "";
	readonly #states: readonly P["state"][];
	readonly #parts = new Map<string, P>();
	#counts: Counts<P> | undefined;

	constructor({ title, kind, createdAt, cancel, isOfPage = false }: JobOptions<P>) {
		this.title = title;
		this.kind = kind;
		this.createdAt = createdAt;
		this.cancel = cancel;
		this.isOfPage = isOfPage;
		this.#states = keysOf(kind.words);
	}

	get isRunning(): boolean {
		return this.problem === "" && this.count(...this.kind.running) > 0;
	}

	/** "1 failed, 2 done" */
	get text(): string {
		const texts = this.#states.map((state) => ({ count: this.count(state), words: this.kind.words[state] }));
		return texts
			.filter(({ count }) => count > 0)
			.map(({ count, words }) => `${count.toLocaleString("en")} ${words}`)
			.join(", ");
	}

	/** What needs attention first; devices in the same state by their ids. */
	get parts(): readonly P[] {
		const rank = (part: P) => this.#states.indexOf(part.state);
		return [...this.#parts.values()].sort((a, b) => rank(a) - rank(b) || (a.deviceId < b.deviceId ? -1 : 1));
	}

	/** How many devices are in one of these states; without one: in any. */
	count(...states: readonly P["state"][]): number {
		const counted = states.length === 0 ? this.#states : states;
		const given = this.#counts;
		if (given) return counted.reduce((sum, state: P["state"]) => sum + given[state], 0);
		return [...this.#parts.values()].filter(({ state }) => counted.includes(state)).length;
	}

	/**
	 * Some devices have changed. What was read may be older than a frame that came meanwhile.
	 *
	 * @param counts of all devices, also of those that have never been named
	 */
	take(parts: readonly P[], counts?: Counts<P>): void {
		for (const part of parts)
			if ((this.#parts.get(part.deviceId)?.at ?? "") <= part.at) this.#parts.set(part.deviceId, part);
		const total = counts ? this.#states.reduce((sum, state: P["state"]) => sum + counts[state], 0) : 0;
		this.#counts = total > this.#parts.size ? counts : undefined;
	}
}
