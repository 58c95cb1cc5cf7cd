/** Short-lived confirmations of actions. */

const shownMs = 4_000;

export class Toasts {
	readonly #onChanged: () => void;
	readonly #shown = new Map<string, { readonly text: string }>();

	constructor(onChanged: () => void) {
		this.#onChanged = onChanged;
	}

	/** Toasts, the latest last. */
	get all(): readonly (readonly [key: string, text: string])[] {
		return [...this.#shown].map(([key, { text }]) => [key, text]);
	}

	/** Removes all, as they concern the view that is left. */
	clear(): void {
		this.#shown.clear();
		this.#onChanged();
	}

	/** @param key action and target; a newer toast with the same key replaces the older one */
	show(key: string, text: string): void {
		const toast = { text };
		this.#shown.delete(key);
		this.#shown.set(key, toast);
		this.#onChanged();
		setTimeout(() => {
			if (this.#shown.get(key) !== toast) return;
			this.#shown.delete(key);
			this.#onChanged();
		}, shownMs);
	}
}
