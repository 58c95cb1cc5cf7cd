/** A channel that a program opened, for its handler in Node. */
export interface Channel {
	readonly id: number;
	/** As in the program's `new Channel(kind, options, …)`. */
	readonly kind: string;
	readonly options: unknown;
	/** Sends an event; does nothing on a closed channel. */
	send(name: string, detail?: unknown, payload?: Uint8Array): void;
}

export interface Answer {
	detail?: unknown;
	payload?: Uint8Array;
}

export type MaybeAnswer = Answer | undefined;

/** Payloads are views that are valid until the callback returns. */
export interface ChannelHandler {
	/** A request without an answer. */
	onPost?(request: string, detail: unknown, payload: Buffer): void;
	/** The program waits for the answer; an exception is thrown there with the same message. */
	onCall?(request: string, detail: unknown, payload: Buffer): MaybeAnswer | Promise<MaybeAnswer>;
	/** Closed by the program, or the process ended. */
	onClose?(): void;
}
