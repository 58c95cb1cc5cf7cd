/** Selected devices. */

export class Selection {
	readonly #onChanged: () => void;
	#keys: ReadonlySet<string> = new Set();
	/** Start of a range: the device that was toggled last. */
	#anchor: string | undefined;

	constructor(onChanged: () => void) {
		this.#onChanged = onChanged;
	}

	get keys(): ReadonlySet<string> {
		return this.#keys;
	}

	/**
	 * Selects or deselects a device.
	 * @param order keys in display order; if given, selects the range from the last toggled device
	 */
	toggle(key: string, order: readonly string[] = []): void {
		const ends = [order.indexOf(this.#anchor ?? key), order.indexOf(key)];
		if (!ends.includes(-1))
			return this.set([...this.#keys, ...order.slice(Math.min(...ends), Math.max(...ends) + 1)]);
		const next = new Set(this.#keys);
		if (!next.delete(key)) next.add(key);
		this.#anchor = key;
		this.set(next);
	}

	/** Selects devices, or deselects them if all are selected. */
	toggleAll(keys: readonly string[]): void {
		const next = new Set(this.#keys);
		const hasAll = keys.every((key) => next.has(key));
		for (const key of keys) hasAll ? next.delete(key) : next.add(key);
		this.set(next);
	}

	set(keys: Iterable<string>): void {
		this.#keys = new Set(keys);
		this.#onChanged();
	}

	/** Deselects a removed device. */
	drop(key: string): void {
		if (this.#keys.has(key)) this.set([...this.#keys].filter((selected) => selected !== key));
	}
}
