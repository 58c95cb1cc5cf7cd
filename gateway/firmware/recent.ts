/**
 * Remembers for a moment what took asking the disk. A hundred devices that fetch one image block by block would otherwise
 * ask it for the same facts thousands of times a second.
 */

export interface RecentOptions {
	/** How old an answer may be, in milliseconds; 0: none is remembered. */
	readonly maxAgeMs: number;
	/** Milliseconds, from any start. */
	readonly now: () => number;
}

/** So few that what they hold on to does not count beside what is cached anyway. */
const maxEntries = 4;

export class Recent<T> {
	readonly #options: RecentOptions;
	/** The oldest first. */
	readonly #entries = new Map<string, { readonly since: number; readonly value: Promise<T> }>();

	constructor(options: RecentOptions) {
		this.#options = options;
	}

	/** What is remembered under that key, or else what `load` gives. A failure is not remembered. */
	get(key: string, load: () => Promise<T>): Promise<T> {
		const now = this.#options.now();
		for (const [name, { since }] of this.#entries)
			if (now - since >= this.#options.maxAgeMs) this.#entries.delete(name);
		const entry = this.#entries.get(key);
		if (entry) return entry.value;
		const value = load();
		this.#entries.set(key, { since: now, value });
		value.catch(() => this.#entries.delete(key));
		for (const [name] of this.#entries) if (this.#entries.size > maxEntries) this.#entries.delete(name);
		return value;
	}
}
