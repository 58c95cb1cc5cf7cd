/**
 * Channel to Node. Modules of the virtual host access everything outside of XS (sockets, speaker, flash) through channels, so XS does not
 * depend on Node and modules have no state.
 */

import type { Kind, Peripherals, Values } from "../peripherals.js";

type Payload = ArrayBuffer | Uint8Array;
type Request = (detail?: unknown, payload?: Payload) => unknown;

/** Channel kind of a test program, with one callback for all events. */
interface Other {
	options: object;
	posts: Readonly<Record<string, Request>>;
	calls: Readonly<Record<string, Request>>;
	events: (name: string, detail: unknown, payload: Uint8Array | undefined) => void;
}
type Peripheral<K extends string> = K extends Kind ? Peripherals[K] : Other;
type Result<F> = F extends (...values: never) => infer R ? R : never;

/**
 * Sends JSON. As on a board, JSON.stringify rejects objects created while a module was loaded ("read only value"); pass a copy.
 */
export default class Channel<K extends string> {
	readonly #id: number;
	#isOpen = true;

	/**
	 * @param kind name in the table of ../peripherals.ts
	 * @param events callbacks for events from Node, each called in a new turn, never after close()
	 */
	constructor(kind: K, options: Peripheral<K>["options"], events: Peripheral<K>["events"]) {
		this.#id = natives.open(JSON.stringify([kind, options]), (header, payload) =>
			dispatch(events, header, payload),
		);
	}

	/** Sends a request without an answer. Does nothing after close(). */
	post<R extends keyof Peripheral<K>["posts"] & string>(
		request: R,
		...values: Values<Peripheral<K>["posts"][R]>
	): void {
		const parts: readonly unknown[] = values;
		if (this.#isOpen) natives.post(this.#id, JSON.stringify([request, parts[0]]), parts[1]);
	}

	/**
	 * Sends a request and blocks until the answer arrives.
	 * @throws Error with Node's message if the request fails, or after close()
	 */
	call<R extends keyof Peripheral<K>["calls"] & string>(
		request: R,
		...values: Values<Peripheral<K>["calls"][R]>
	): Result<Peripheral<K>["calls"][R]> {
		const parts: readonly unknown[] = values;
		if (!this.#isOpen) throw new Error("the channel is closed");
		const { value, failure } = natives.call(
			this.#id,
			JSON.stringify([request, parts[0]]),
			parts[1],
			// Bytes replace the value.
			(header, payload) => (payload ? { value: new Uint8Array(payload) } : JSON.parse(header)),
		);
		if (failure !== undefined) throw new Error(failure);
		return value;
	}

	/** Closes both ends. Discards events in flight. */
	close(): void {
		if (!this.#isOpen) return;
		this.#isOpen = false;
		natives.close(this.#id);
	}
}

/** Module function instead of a closure, whose code the machine would copy to the heap, unlike a board. */
function dispatch(events: object, header: string, payload: ArrayBuffer | undefined): void {
	const [name, detail]: [string, unknown] = JSON.parse(header);
	const bytes = payload && new Uint8Array(payload);
	if (typeof events === "function") Reflect.apply(events, undefined, [name, detail, bytes]);
	else Reflect.get(events, name)?.(detail, bytes);
}
