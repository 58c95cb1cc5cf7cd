/**
 * A channel to Node. Everything that a module of the virtual host does outside of XS (a socket, the speaker, the flash) goes
 * through a channel, so XS needs nothing of Node's and no module keeps state.
 */

import type { Kind, Peripherals, Values } from "../peripherals.js";

type Payload = ArrayBuffer | Uint8Array;
type Request = (detail?: unknown, payload?: Payload) => unknown;

/** A program of tests has kinds of its own, whose events come to one function. */
interface Other {
	options: object;
	posts: Readonly<Record<string, Request>>;
	calls: Readonly<Record<string, Request>>;
	events: (name: string, detail: unknown, payload: Uint8Array | undefined) => void;
}
type Peripheral<K extends string> = K extends Kind ? Peripherals[K] : Other;
type Result<F> = F extends (...values: never) => infer R ? R : never;

/**
 * What is sent is JSON. As on a board, JSON.stringify refuses objects that were made while a module was loaded ("read only
 * value"): pass copies of those.
 */
export default class Channel<K extends string> {
	readonly #id: number;
	#isOpen = true;

	/**
	 * @param kind of the table in ../peripherals.ts
	 * @param events called in a new turn for each one that Node sends; never after close()
	 */
	constructor(kind: K, options: Peripheral<K>["options"], events: Peripheral<K>["events"]) {
		const handlers: object = events;
		this.#id = natives.open(JSON.stringify([kind, options]), (header, payload) => {
			const [name, detail]: [string, unknown] = JSON.parse(header);
			const bytes = payload && new Uint8Array(payload);
			if (typeof handlers === "function") Reflect.apply(handlers, undefined, [name, detail, bytes]);
			else Reflect.get(handlers, name)?.(detail, bytes);
		});
	}

	/** Sends a request that has no answer. Does nothing after close(). */
	post<R extends keyof Peripheral<K>["posts"] & string>(
		request: R,
		...values: Values<Peripheral<K>["posts"][R]>
	): void {
		if (this.#isOpen) natives.post(this.#id, ...encode(request, values));
	}

	/**
	 * Sends a request and waits for its answer; the device does nothing else meanwhile.
	 * @throws Error with Node's message if Node refuses, or after close()
	 */
	call<R extends keyof Peripheral<K>["calls"] & string>(
		request: R,
		...values: Values<Peripheral<K>["calls"][R]>
	): Result<Peripheral<K>["calls"][R]> {
		if (!this.#isOpen) throw new Error("the channel is closed");
		const { value, failure } = natives.call(this.#id, ...encode(request, values), (answer, payload) =>
			// Bytes come in place of a value.
			payload ? { value: new Uint8Array(payload) } : JSON.parse(answer),
		);
		if (failure !== undefined) throw new Error(failure);
		return value;
	}

	/** Closes both ends. Events on their way are dropped. */
	close(): void {
		if (!this.#isOpen) return;
		this.#isOpen = false;
		natives.close(this.#id);
	}
}

/** As the natives take it. */
function encode(
	request: string,
	[detail, payload]: readonly unknown[],
): [header: string, buffer: ArrayBufferLike | undefined, offset: number, length: number] {
	const header = JSON.stringify([request, detail]);
	if (payload instanceof Uint8Array) return [header, payload.buffer, payload.byteOffset, payload.byteLength];
	if (payload instanceof ArrayBuffer) return [header, payload, 0, payload.byteLength];
	return [header, undefined, 0, 0];
}
