/**
 * Codec for frames between Node and a machine (hosts/virtual/machine/channel.c): u32 length of the rest, u8 kind, u32 channel, u32 header
 * length, header, payload; integers are little-endian.
 */

/** `enum frame_kind` in hosts/virtual/machine/machine.h. */
export const frameKind = {
	start: 1,
	event: 2,
	answer: 3,
	step: 4,
	inspect: 5,
	open: 16,
	post: 17,
	call: 18,
	close: 19,
	trace: 20,
	reply: 21,
	exit: 22,
} as const;

/** Decoded frame. `payload` is a view of the input; copy it to keep it. */
export interface Frame {
	kind: number;
	channel: number;
	header: string;
	payload: Buffer;
}

const lengthBytes = 4;
const prefixBytes = 13;

/** Encodes a frame in two parts to avoid copying the payload. */
export function encodeFrame(
	kind: number,
	channel: number,
	header: string,
	payload?: Uint8Array,
): Uint8Array[] {
	const headerBytes = Buffer.byteLength(header);
	const head = Buffer.allocUnsafe(prefixBytes + headerBytes);
	head.writeUInt32LE(prefixBytes - lengthBytes + headerBytes + (payload?.byteLength ?? 0), 0);
	head.writeUInt8(kind, 4);
	head.writeUInt32LE(channel, 5);
	head.writeUInt32LE(headerBytes, 9);
	head.write(header, prefixBytes);
	return payload && payload.byteLength > 0 ? [head, payload] : [head];
}

/** Splits a byte stream into frames. */
export class FrameDecoder {
	readonly #onFrame: (frame: Frame) => void;
	#rest: Buffer = Buffer.alloc(0);

	constructor({ onFrame }: { readonly onFrame: (frame: Frame) => void }) {
		this.#onFrame = onFrame;
	}

	write(chunk: Buffer): void {
		let rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
		while (rest.length >= lengthBytes) {
			const end = lengthBytes + rest.readUInt32LE(0);
			if (rest.length < end) break;
			const frame = decodeFrame(rest.subarray(0, end));
			rest = rest.subarray(end);
			this.#onFrame(frame);
		}
		this.#rest = rest;
	}
}

function decodeFrame(bytes: Buffer): Frame {
	const headerEnd = prefixBytes + bytes.readUInt32LE(9);
	return {
		kind: bytes.readUInt8(4),
		channel: bytes.readUInt32LE(5),
		header: bytes.toString("utf8", prefixBytes, headerEnd),
		payload: bytes.subarray(headerEnd),
	};
}
