/** Cache of the latest few results by key. Failures are not kept. */
export class Cache<T> {
	readonly #most: number;
	/** Least recently used first. */
	readonly #results = new Map<string, Promise<T>>();

	/** @param most number of results kept */
	constructor(most: number) {
		this.#most = most;
	}

	/** Returns the known result of a key, or calls `read` once for concurrent calls. */
	get(key: string, read: () => Promise<T>): Promise<T> {
		const result = this.#results.get(key) ?? read();
		this.#results.delete(key);
		this.#results.set(key, result);
		result.catch(() => this.#results.get(key) === result && this.delete(key));
		for (const oldest of this.#results.keys()) if (this.#results.size > this.#most) this.delete(oldest);
		return result;
	}

	delete(key: string): void {
		this.#results.delete(key);
	}
}
