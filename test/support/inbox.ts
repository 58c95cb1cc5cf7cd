/** Queue of items that arrive over time, such as frames of a socket. */
export class Inbox<T> {
	readonly #items: T[] = [];
	#end: Error | undefined;
	#changed = () => {};

	add(item: T): void {
		this.#items.push(item);
		this.#changed();
	}

	/** Makes take() fail with the first such error once no item is left. */
	end(error: Error): void {
		this.#end ??= error;
		this.#changed();
	}

	clear(): void {
		this.#items.length = 0;
	}

	/** Removes the next item, and waits for it if there is none. One caller at a time. */
	async take(): Promise<T> {
		for (;;) {
			const item = this.#items.shift();
			if (item !== undefined) return item;
			if (this.#end) throw this.#end;
			await new Promise<void>((resolve) => {
				this.#changed = resolve;
			});
		}
	}
}
