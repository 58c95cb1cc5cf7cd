/** Short-lived confirmations of actions. */

const shownMs = 4_000;

export class Toasts {
	readonly #onChanged: () => void;
	readonly #shown = new Map<string, { readonly text: string }>();

	constructor(onChanged: () => void) {
		this.#onChanged = onChanged;
	}

	/** The latest last. */
	get all(): readonly (readonly [about: string, text: string])[] {
		return [...this.#shown].map(([about, { text }]) => [about, text]);
	}

	/** @param about the kind and the target: a newer one of both takes its place */
	show(about: string, text: string): void {
		const toast = { text };
		this.#shown.delete(about);
		this.#shown.set(about, toast);
		this.#onChanged();
		setTimeout(() => {
			if (this.#shown.get(about) !== toast) return;
			this.#shown.delete(about);
			this.#onChanged();
		}, shownMs);
	}
}
