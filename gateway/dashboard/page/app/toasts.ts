/** Short-lived confirmations of actions. */

const shownMs = 4_000;
const undoableMs = 6_000;

interface Toast {
	readonly text: string;
	readonly undo: (() => void) | undefined;
}

export class Toasts {
	readonly #onChanged: () => void;
	readonly #shown = new Map<string, Toast>();

	constructor(onChanged: () => void) {
		this.#onChanged = onChanged;
	}

	/** Toasts, the latest last. */
	get all(): readonly (readonly [key: string, toast: Toast])[] {
		return [...this.#shown];
	}

	/** Removes those that cannot be undone, as they concern the view that is left. */
	clear(): void {
		for (const [key, { undo }] of this.#shown) if (!undo) this.#shown.delete(key);
		this.#onChanged();
	}

	/** Undoes an action; by default the latest one. @returns whether there is one */
	undo(key = this.all.filter(([, { undo }]) => undo).at(-1)?.[0] ?? ""): boolean {
		const { undo } = this.#shown.get(key) ?? {};
		this.#shown.delete(key);
		this.#onChanged();
		undo?.();
		return undo !== undefined;
	}

	/** @param key action and target; a newer toast with the same key replaces the older one */
	show(key: string, text: string, undo?: () => void): void {
		const toast = { text, undo };
		this.#shown.delete(key);
		this.#shown.set(key, toast);
		this.#onChanged();
		setTimeout(
			() => {
				if (this.#shown.get(key) !== toast) return;
				this.#shown.delete(key);
				this.#onChanged();
			},
			undo ? undoableMs : shownMs,
		);
	}
}
