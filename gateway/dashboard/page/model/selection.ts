/** The devices that a person has chosen to do something with. */

export class Selection {
	readonly #onChanged: () => void;
	#keys: ReadonlySet<string> = new Set();
	/** Where a range begins: what was chosen last. */
	#anchor: string | undefined;

	constructor(onChanged: () => void) {
		this.#onChanged = onChanged;
	}

	get keys(): ReadonlySet<string> {
		return this.#keys;
	}

	/**
	 * Chooses a device, or takes that back.
	 * @param order of all as they are shown: chooses also those between it and the one chosen last
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

	set(keys: Iterable<string>): void {
		this.#keys = new Set(keys);
		this.#onChanged();
	}

	/** A device is gone. */
	drop(key: string): void {
		if (this.#keys.has(key)) this.set([...this.#keys].filter((one) => one !== key));
	}
}
