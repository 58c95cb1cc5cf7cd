import { memoryOf } from "virtual/bytes";
import { call, close, open, post } from "virtual/natives";

/**
 * A stand-in's other half, which lives in Node: a socket, a speaker, a flash. All that a module of the virtual host
 * does to the world goes through one, so nothing of Node's is needed in XS, and no state in any module.
 */

type Payload = ArrayBuffer | Uint8Array;

/** What Node answered to a call. `detail` is what JSON makes of it; `payload` is undefined if it was empty. */
export interface Answer {
	detail: unknown;
	payload: ArrayBuffer | undefined;
}

type OnEvent = (name: string, detail: unknown, payload: ArrayBuffer | undefined) => void;

/**
 * `detail` and `options` go through JSON. As on a board, JSON.stringify refuses objects that were made while a module
 * was loaded ("read only value"): hand over copies of those.
 */
export default class Channel {
	readonly #id: number;
	#isOpen = true;

	/**
	 * @param kind which stand-in Node is to make
	 * @param options for it
	 * @param onEvent called in a turn of its own for each event that Node sends; never after close()
	 */
	constructor(kind: string, options: object, onEvent: OnEvent) {
		this.#id = open(JSON.stringify([kind, options]), (header, payload) => {
			const [name, detail]: [string, unknown] = JSON.parse(header);
			onEvent(name, detail, payload);
		});
	}

	/** Sends a request that has no answer. Does nothing after close(). */
	post(request: string, detail?: unknown, payload?: Payload): void {
		if (!this.#isOpen) return;
		const { buffer, offset, length } = bytesOf(payload);
		post(this.#id, JSON.stringify([request, detail]), buffer, offset, length);
	}

	/**
	 * Sends a request and waits for its answer; the device does nothing else meanwhile.
	 * @throws Error with Node's message if Node refuses, or after close()
	 */
	call(request: string, detail?: unknown, payload?: Payload): Answer {
		if (!this.#isOpen) throw new Error("the channel is closed");
		const { buffer, offset, length } = bytesOf(payload);
		const {
			text,
			failure,
			payload: bytes,
		} = call(this.#id, JSON.stringify([request, detail]), buffer, offset, length);
		if (failure !== undefined) throw new Error(failure);
		return { detail: text ? JSON.parse(text) : undefined, payload: bytes };
	}

	/** Ends the stand-in. Events that are under way are dropped. */
	close(): void {
		if (!this.#isOpen) return;
		this.#isOpen = false;
		close(this.#id);
	}
}

function bytesOf(payload: Payload | undefined) {
	if (payload === undefined) return { buffer: undefined, offset: 0, length: 0 };
	if (payload instanceof ArrayBuffer) return { buffer: payload, offset: 0, length: payload.byteLength };
	return { buffer: memoryOf(payload), offset: payload.byteOffset, length: payload.byteLength };
}
