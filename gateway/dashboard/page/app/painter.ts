/**
 * Notifies views of changes at most once per frame. A thousand devices report hundreds of times a second, which is more than the screen
 * can show.
 */

/** Subjects that views listen to. */
export type Topic =
	| "link"
	/** Set of devices, or fields by which lists are sorted and filtered. */
	| "list"
	| `device ${string}`
	| `record ${string}`
	| "firmware"
	| "rollouts"
	| "query"
	| "selection"
	/** Keys of the listed devices. */
	| "shown"
	| "jobs"
	| "issues"
	/** Once a second. */
	| "second"
	| "install"
	| "announcements"
	| "quiet";

export class Painter {
	readonly #listeners = new Map<Topic, Set<() => void>>();
	readonly #changed = new Set<Topic>();
	readonly #requestFrame: (paint: () => void) => unknown;
	#isRequested = false;

	/** @param requestFrame schedules its argument before the next frame, such as requestAnimationFrame */
	constructor(requestFrame: (paint: () => void) => unknown) {
		this.#requestFrame = requestFrame;
	}

	/** Schedules a notification of the topic's listeners. */
	mark(topic: Topic): void {
		this.#changed.add(topic);
		if (this.#isRequested) return;
		this.#isRequested = true;
		this.#requestFrame(() => this.#paint());
	}

	/** @returns a function that removes the listener */
	listen(topic: Topic, listener: () => void): () => void {
		const listeners = this.#listeners.get(topic) ?? new Set();
		this.#listeners.set(topic, listeners.add(listener));
		return () => {
			listeners.delete(listener);
			if (listeners.size === 0 && this.#listeners.get(topic) === listeners) this.#listeners.delete(topic);
		};
	}

	#paint(): void {
		this.#isRequested = false;
		const changed = [...this.#changed];
		this.#changed.clear();
		for (const topic of changed) for (const listener of [...(this.#listeners.get(topic) ?? [])]) listener();
	}
}
