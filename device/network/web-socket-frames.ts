/** Frames of a WebSocket client (RFC 6455, 5), without extensions. */

export const opcode = Object.freeze({ continuation: 0, text: 1, close: 8, ping: 9, pong: 10 });

const finalBit = 0x80;
const maskBit = 0x80;
const reservedBits = 0x70;
const kindBits = 0x0f;
/** Payload lengths from here on are control values: two bytes with the length follow. */
const longLength = 126;
const shortHeaderBytes = 2;
const longHeaderBytes = 4;

/** Encodes a whole message or a control frame, with a random mask. @param payload at most 65,535 bytes */
export function encodeFrame(code: number, payload: Uint8Array): Uint8Array {
	const { byteLength } = payload;
	const headerBytes = byteLength < longLength ? 6 : 8;
	// Mask and payload begin at multiples of 4, to be masked by words.
	const buffer = new ArrayBuffer(8 + ((byteLength + 3) & ~3));
	const frame = new Uint8Array(buffer, 8 - headerBytes, headerBytes + byteLength);
	frame[0] = finalBit | code;
	frame[1] = maskBit | Math.min(byteLength, longLength);
	if (headerBytes === 8) new DataView(buffer).setUint16(2, byteLength);
	frame.set(payload, headerBytes);
	const words = new Uint32Array(buffer, 4);
	const mask = Math.floor(Math.random() * 2 ** 32);
	words[0] = mask;
	for (let at = 1; at < words.length; at++) words[at] = (words[at] ?? 0) ^ mask;
	return frame;
}

/** Bytes of a connection. */
export interface FrameSource {
	readonly unread: number;
	read(buffer: Uint8Array): void;
}

export interface FrameReaderOptions {
	/** Maximum length of a message. */
	readonly maxBytes: number;
	/** A text message has arrived; see takeMessage(). */
	readonly onMessage: () => void;
	readonly onControl: (code: number, payload: Uint8Array) => void;
	/** The server sent what this reader does not accept. Must close the source. */
	readonly onInvalid: (what: string) => void;
}

export class FrameReader {
	readonly #options: FrameReaderOptions;
	readonly #header = new Uint8Array(longHeaderBytes);
	/** Part of the frame being read: its header, or its payload. */
	#target = this.#header;
	#filled = 0;
	#isPayload = false;
	/** Fragments of the message received so far, joined: separate buffers would take many times the memory. */
	#message = new Uint8Array(0);

	constructor(options: FrameReaderOptions) {
		this.#options = options;
		this.#beginHeader();
	}

	/** Reads all bytes that have arrived. */
	read(source: FrameSource): void {
		for (;;) {
			const end = Math.min(this.#filled + source.unread, this.#target.byteLength);
			source.read(this.#target.subarray(this.#filled, end));
			this.#filled = end;
			if (end < this.#target.byteLength) return;
			if (this.#isPayload) this.#endFrame();
			else this.#endHeader();
		}
	}

	/** Returns the message, which this object no longer refers to, so that it can be collected while it is parsed. */
	takeMessage(): Uint8Array<ArrayBuffer> {
		const message = this.#message;
		this.#message = new Uint8Array(0);
		return message;
	}

	#beginHeader(): void {
		this.#target = this.#header.subarray(0, shortHeaderBytes);
		this.#filled = 0;
		this.#isPayload = false;
	}

	#endHeader(): void {
		const [start = 0, code = 0, high = 0, low = 0] = this.#header;
		const isLong = code === longLength;
		if (isLong && this.#filled === shortHeaderBytes) {
			this.#target = this.#header;
			return;
		}
		const kind = start & kindBits;
		const isControl = kind >= opcode.close;
		if (start & reservedBits || code > longLength || (isControl && isLong))
			return this.#reject("an invalid frame");
		if (!isControl && kind > opcode.text) return this.#reject("a binary frame");
		const begun = isControl ? new Uint8Array(0) : this.#message;
		const byteCount = begun.byteLength + (isLong ? (high << 8) | low : code);
		if (byteCount > this.#options.maxBytes) return this.#reject("a message that is too long");
		this.#target = new Uint8Array(byteCount);
		this.#target.set(begun);
		this.#filled = begun.byteLength;
		this.#isPayload = true;
	}

	#endFrame(): void {
		const [start = 0] = this.#header;
		const kind = start & kindBits;
		const payload = this.#target;
		this.#beginHeader();
		if (kind >= opcode.close) return this.#options.onControl(kind, payload);
		this.#message = payload;
		if (start & finalBit) this.#options.onMessage();
	}

	#reject(what: string): void {
		this.#beginHeader();
		this.#options.onInvalid(what);
	}
}
