/**
 * Notifies views that their content has changed, all together, once a frame. A thousand devices report hundreds of
 * times a second; a view that painted each report would paint more than the screen shows.
 */

/** What views listen to. */
export type Topic =
	| "link"
	/** Which devices there are, or what lists are sorted and filtered by. */
	| "list"
	| `device ${string}`
	| `record ${string}`
	| "firmware"
	| "rollouts"
	| "query"
	| "selection"
	/** The keys of the listed devices. */
	| "shown"
	| "jobs"
	| "refusals"
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

	/** @param requestFrame calls its argument before the next frame is drawn */
	constructor(requestFrame: (paint: () => void) => unknown) {
		this.#requestFrame = requestFrame;
	}

	/** A topic has changed. */
	mark(topic: Topic): void {
		this.#changed.add(topic);
		if (this.#isRequested) return;
		this.#isRequested = true;
		this.#requestFrame(() => this.#paint());
	}

	/** @returns a function that ends the listening */
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
