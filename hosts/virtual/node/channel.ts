/** Channel opened by a program, used by its handler in Node. */
export interface Channel {
	readonly id: number;
	/** Kind passed by the program to `new Channel(kind, options, …)`. */
	readonly kind: string;
	readonly options: unknown;
	/** Sends an event. Does nothing on a closed channel. */
	send(name: string, detail?: unknown, payload?: Uint8Array): void;
}

export interface Answer {
	detail?: unknown;
	payload?: Uint8Array;
}

export type MaybeAnswer = Answer | undefined;

/** Handler of a channel. Payloads are views that are valid until the callback returns. */
export interface ChannelHandler {
	/** Handles a request without an answer. */
	onPost?(request: string, detail: unknown, payload: Buffer): void;
	/** Handles a request for which the program waits. An exception is rethrown in the program with the same message. */
	onCall?(request: string, detail: unknown, payload: Buffer): MaybeAnswer | Promise<MaybeAnswer>;
	/** Called when the program closes the channel or the process ends. */
	onClose?(): void;
}
