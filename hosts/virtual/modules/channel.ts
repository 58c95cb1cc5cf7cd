/**
 * A channel to Node, and helpers for what travels on it. Everything that a module of the virtual host does outside of XS (a
 * socket, the speaker, the flash) goes through a channel, so XS needs nothing of Node's and no module keeps state.
 */

import { call, close, copyBytes, latin1, open, post } from "virtual/natives";

type Payload = ArrayBuffer | Uint8Array;

/** What Node answered to a call. `detail` is parsed JSON; `payload` is undefined if it was empty. */
export interface Answer {
	detail: unknown;
	payload: ArrayBuffer | undefined;
}

type OnEvent = (name: string, detail: unknown, payload: ArrayBuffer | undefined) => void;

/**
 * `detail` and `options` are sent as JSON. As on a board, JSON.stringify refuses objects that were made while a module was
 * loaded ("read only value"): pass copies of those.
 */
export default class Channel {
	readonly #id: number;
	#isOpen = true;

	/**
	 * @param kind name of the handler in Node (node/virtual-device.ts)
	 * @param options for it
	 * @param onEvent called in a new turn for each event that Node sends; never after close()
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

	/** Closes both ends. Events on their way are dropped. */
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

/** @throws TypeError for shared memory */
function memoryOf({ buffer }: Uint8Array): ArrayBuffer {
	if (!(buffer instanceof ArrayBuffer)) throw new TypeError("shared memory cannot be used");
	return buffer;
}

/** Copies in C, as a board's drivers do. @throws RangeError where `source` does not fit into `target` from `offset` on */
export function copyInto(target: Uint8Array, offset: number, source: Uint8Array): void {
	if (source.byteLength > target.byteLength - offset) throw new RangeError("too many bytes");
	copyBytes(
		memoryOf(target),
		target.byteOffset + offset,
		memoryOf(source),
		source.byteOffset,
		source.byteLength,
	);
}

/** Decodes Latin-1: one character for each byte. */
export function textOf(bytes: Uint8Array): string {
	return latin1(memoryOf(bytes), bytes.byteOffset, bytes.byteLength);
}

/** @throws TypeError where `detail` has no string of that name */
export function textField(detail: unknown, name: string): string {
	const value = field(detail, name);
	if (typeof value !== "string") throw new TypeError(`${name} must be a string`);
	return value;
}

/** @throws TypeError where `detail` has no number of that name */
export function numberField(detail: unknown, name: string): number {
	const value = field(detail, name);
	if (typeof value !== "number") throw new TypeError(`${name} must be a number`);
	return value;
}

/** The number of that name, if there is one. */
export function optionalNumberField(detail: unknown, name: string): number | undefined {
	const value = field(detail, name);
	return typeof value === "number" ? value : undefined;
}

function field(detail: unknown, name: string): unknown {
	if (typeof detail !== "object" || detail === null) return undefined;
	return Object.getOwnPropertyDescriptor(detail, name)?.value;
}
