/** Something that is done to many devices: a command that the gateway carries out, or a change that this page makes. */

import { type CommandState, commandStates } from "../../../api/statuses.js";

export interface Part {
	readonly key: string;
	readonly state: CommandState;
	/** Why it is not done; null otherwise. */
	readonly reason: string | null;
}

export interface JobOptions {
	/** Such as "Volume 40". */
	readonly title: string;
	/** Calls off what has not begun. */
	readonly cancel: () => void;
	/** Whether it ends with this page. */
	readonly isOfPage: boolean;
}

type Counts = Readonly<Record<CommandState, number>>;

export class Job {
	readonly title: string;
	readonly cancel: () => void;
	readonly isOfPage: boolean;
	readonly #parts = new Map<string, Part>();
	#counts: Counts = noCounts;

	constructor({ title, cancel, isOfPage }: JobOptions) {
		this.title = title;
		this.cancel = cancel;
		this.isOfPage = isOfPage;
	}

	get counts(): Counts {
		return this.#counts;
	}

	get isRunning(): boolean {
		return this.#counts.asked + this.#counts.waiting > 0;
	}

	/** In the order in which people read them: what needs attention first. */
	parts(): readonly Part[] {
		const rank = (part: Part) => commandStates.indexOf(part.state);
		return [...this.#parts.values()].sort((a, b) => rank(a) - rank(b));
	}

	/** A device has changed. */
	put(part: Part): void {
		const previous = this.#parts.get(part.key);
		const counts = { ...this.#counts };
		if (previous) counts[previous.state] -= 1;
		counts[part.state] += 1;
		this.#parts.set(part.key, part);
		this.#counts = counts;
	}

	/** The gateway reports some devices, and the counts of all. */
	take(parts: Iterable<Part>, counts: Counts): void {
		for (const part of parts) this.#parts.set(part.key, part);
		this.#counts = counts;
	}
}

const noCounts: Counts = { failed: 0, unsupported: 0, away: 0, cancelled: 0, asked: 0, waiting: 0, done: 0 };
