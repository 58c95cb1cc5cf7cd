/** Typed events. Listeners are told what has happened; they cannot change the outcome. */

/** Listeners by event. @typeParam E parameters by event */
export type ListenersOf<E extends { readonly [N in keyof E]: readonly unknown[] }> = {
	readonly [N in keyof E]?: (...parameters: E[N]) => void;
};

export class EventBus<E extends { readonly [N in keyof E]: readonly unknown[] }> {
	/** Replaced as a whole, since a listener may add or remove listeners. */
	#listeners: readonly ListenersOf<E>[] = [];

	/** Adds listeners, called after those added before. @returns a function that removes them */
	on(listeners: ListenersOf<E>): () => void {
		this.#listeners = [...this.#listeners, listeners];
		return () => {
			this.#listeners = this.#listeners.filter((added) => added !== listeners);
		};
	}

	emit<N extends keyof E>(event: N, ...parameters: E[N]): void {
		for (const listeners of this.#listeners) listeners[event]?.(...parameters);
	}
}
