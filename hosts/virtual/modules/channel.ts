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
		this.#id = natives.open(JSON.stringify([kind, options]), (header, payload) =>
			dispatch(events, header, payload),
		);
	}

	/** Sends a request that has no answer. Does nothing after close(). */
	post<R extends keyof Peripheral<K>["posts"] & string>(
		request: R,
		...values: Values<Peripheral<K>["posts"][R]>
	): void {
		const given: readonly unknown[] = values;
		if (this.#isOpen) natives.post(this.#id, JSON.stringify([request, given[0]]), given[1]);
	}

	/**
	 * Sends a request and waits for its answer; the device does nothing else meanwhile.
	 * @throws Error with Node's message if Node refuses, or after close()
	 */
	call<R extends keyof Peripheral<K>["calls"] & string>(
		request: R,
		...values: Values<Peripheral<K>["calls"][R]>
	): Result<Peripheral<K>["calls"][R]> {
		const given: readonly unknown[] = values;
		if (!this.#isOpen) throw new Error("the channel is closed");
		const { value, failure } = natives.call(
			this.#id,
			JSON.stringify([request, given[0]]),
			given[1],
			// Bytes come in place of a value.
			(header, payload) => (payload ? { value: new Uint8Array(payload) } : JSON.parse(header)),
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

/** A function of the module, since the machine copies the code of each closure into the heap, which no board does. */
function dispatch(events: object, header: string, payload: ArrayBuffer | undefined): void {
	const [name, detail]: [string, unknown] = JSON.parse(header);
	const bytes = payload && new Uint8Array(payload);
	if (typeof events === "function") Reflect.apply(events, undefined, [name, detail, bytes]);
	else Reflect.get(events, name)?.(detail, bytes);
}
