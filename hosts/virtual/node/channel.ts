/** Channels between the firmware and Node: events go to the firmware, posts and calls come from it. */

/** A channel that the firmware opened, as its handler sees it. */
export interface Channel {
	readonly id: number;
	/** As in the firmware's `new Channel(kind, options, …)`. */
	readonly kind: string;
	readonly options: unknown;
	/**
	 * Sends an event, which the firmware gets in a new turn. Does nothing once either side is closed.
	 * @returns false if the machine reads too slowly: pause until onDrain
	 */
	send(name: string, detail?: unknown, payload?: Uint8Array): boolean;
}

/** The answer to a call. */
export interface Answer {
	detail?: unknown;
	payload?: Uint8Array;
}

export type MaybeAnswer = Answer | undefined;

/** Handles one channel. Payloads are views that are valid until the callback returns: copy them to keep them. */
export interface ChannelHandler {
	/** A request without an answer. */
	onPost?(request: string, detail: unknown, payload: Buffer): void;
	/** A request that the firmware waits for. An exception is thrown in the firmware, as an Error with the same message. */
	onCall?(request: string, detail: unknown, payload: Buffer): MaybeAnswer | Promise<MaybeAnswer>;
	/** The firmware closed the channel, or the process ended. */
	onClose?(): void;
	/** All that was sent has been written. */
	onDrain?(): void;
}
