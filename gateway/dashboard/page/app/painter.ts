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
	| "install"
	| "announcements"
	| "quiet";

export class Painter {
	readonly #events = new EventTarget();
	readonly #changed = new Set<Topic>();
	readonly #requestFrame: (paint: () => void) => unknown;

	/** @param requestFrame schedules its argument before the next frame, such as requestAnimationFrame */
	constructor(requestFrame: (paint: () => void) => unknown) {
		this.#requestFrame = requestFrame;
	}

	/** Schedules a notification of the topic's listeners. */
	mark(topic: Topic): void {
		if (this.#changed.size === 0) this.#requestFrame(() => this.#paint());
		this.#changed.add(topic);
	}

	/** @returns a function that removes the listener */
	listen(topic: Topic, listener: () => void): () => void {
		this.#events.addEventListener(topic, listener);
		return () => this.#events.removeEventListener(topic, listener);
	}

	#paint(): void {
		const changed = [...this.#changed];
		this.#changed.clear();
		for (const topic of changed) this.#events.dispatchEvent(new Event(topic));
	}
}
