/**
 * Frames between Node and a machine, as hosts/virtual/machine/channel.c reads and writes them: u32 length of what
 * follows, u8 kind, u32 channel, u32 length of the header, header, payload; integers little-endian.
 */

/** The same list as `enum frame_kind` in hosts/virtual/machine/machine.h. */
export const FrameKind = {
	start: 1,
	event: 2,
	answer: 3,
	failure: 4,
	step: 5,
	inspect: 6,
	sync: 7,
	open: 16,
	post: 17,
	call: 18,
	close: 19,
	trace: 20,
	stepped: 21,
	statistics: 22,
	synced: 23,
	ready: 24,
	exit: 25,
} as const;

/** A frame from a machine. `payload` is a view of what was read: copy it to keep it. */
export interface Frame {
	kind: number;
	channel: number;
	header: string;
	payload: Buffer;
}

const LENGTH_BYTES = 4;
const PREFIX_BYTES = 13;

/** The bytes of a frame, in parts that can be written one after the other without copying the payload. */
export function encodeFrame(
	kind: number,
	channel: number,
	header: string,
	payload?: Uint8Array,
): Uint8Array[] {
	const headerBytes = Buffer.byteLength(header);
	const head = Buffer.allocUnsafe(PREFIX_BYTES + headerBytes);
	head.writeUInt32LE(PREFIX_BYTES - LENGTH_BYTES + headerBytes + (payload?.byteLength ?? 0), 0);
	head.writeUInt8(kind, 4);
	head.writeUInt32LE(channel, 5);
	head.writeUInt32LE(headerBytes, 9);
	head.write(header, PREFIX_BYTES);
	return payload && payload.byteLength > 0 ? [head, payload] : [head];
}

/** Cuts a stream of bytes into frames. */
export class FrameDecoder {
	readonly #onFrame: (frame: Frame) => void;
	#chunks: Buffer[] = [];
	#waiting = 0;
	#needed = LENGTH_BYTES;

	constructor(onFrame: (frame: Frame) => void) {
		this.#onFrame = onFrame;
	}

	/** Takes bytes as they come and calls onFrame for each frame that is whole. */
	write(chunk: Buffer): void {
		this.#chunks.push(chunk);
		this.#waiting += chunk.length;
		/* Joining only what completes a frame keeps large frames from being copied once per chunk. */
		if (this.#waiting < this.#needed) return;
		let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
		this.#chunks = [];
		this.#waiting = 0;
		this.#needed = LENGTH_BYTES;
		while (rest.length >= LENGTH_BYTES) {
			const end = LENGTH_BYTES + rest.readUInt32LE(0);
			if (rest.length < end) {
				this.#needed = end;
				break;
			}
			const frame = decodeFrame(rest.subarray(0, end));
			rest = rest.subarray(end);
			this.#onFrame(frame);
		}
		if (rest.length > 0) this.#chunks.push(rest);
		this.#waiting = rest.length;
	}
}

function decodeFrame(bytes: Buffer): Frame {
	const headerEnd = PREFIX_BYTES + bytes.readUInt32LE(9);
	return {
		kind: bytes.readUInt8(4),
		channel: bytes.readUInt32LE(5),
		header: bytes.toString("utf8", PREFIX_BYTES, headerEnd),
		payload: bytes.subarray(headerEnd),
	};
}
