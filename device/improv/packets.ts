/**
 * Packets of Improv over a serial port (https://www.improv-wifi.com/serial/), between the lines of a log: `IMPROV`, version,
 * type, length, data, a checksum, line feed. The device and the page that sets it up share them.
 */

export const packetType = Object.freeze({ currentState: 1, errorState: 2, command: 3, result: 4 } as const);

/** The first byte of a command's data and of its result's; its second one counts the bytes that follow. */
export const command = Object.freeze({
	/** Fields: network name, password. */
	wifiSettings: 1,
	currentState: 2,
	deviceInformation: 3,
	networks: 4,
	/**
	 * Not in the standard, nor in its SDKs. The next piece, in ASCII, of a JSON object like the value of set_settings; without
	 * data: all of it is there. The result has a field if it is refused: a sentence that says what to change.
	 */
	settings: 0xd0,
} as const);

export const improvState = Object.freeze({ ready: 2, provisioning: 3, provisioned: 4 } as const);

export const improvError = Object.freeze({
	none: 0,
	invalidPacket: 1,
	unknownCommand: 2,
	unableToConnect: 3,
} as const);

/** `IMPROV` and the version. Type and length follow. */
const magic: readonly number[] = Object.freeze([0x49, 0x4d, 0x50, 0x52, 0x4f, 0x56, 1]);
const headBytes = magic.length + 2;
const longestData = 255;
const lineFeed = 10;

/** Finds packets in what is received, in pieces of any size. What is no packet, or a damaged one, is skipped. */
export class PacketReader {
	readonly #onPacket: (type: number, data: Uint8Array) => void;
	readonly #buffer = new Uint8Array(headBytes + longestData + 1);
	#length = 0;

	/** @param onPacket gets a view that is valid during the call */
	constructor(onPacket: (type: number, data: Uint8Array) => void) {
		this.#onPacket = onPacket;
	}

	read(bytes: Uint8Array): void {
		for (const byte of bytes) {
			this.#buffer[this.#length] = byte;
			this.#length += 1;
			this.#settle(false);
		}
	}

	/** Nothing has come for a while: a packet that has only begun is none, and may hide others. */
	pause(): void {
		this.#settle(true);
	}

	/** Removes what is a packet or cannot become one. */
	#settle(isPause: boolean): void {
		const buffer = this.#buffer;
		while (this.#length > 0) {
			const length = this.#length;
			const isBegun = magic.every((byte, at) => at >= length || buffer[at] === byte);
			const end = headBytes + (length < headBytes ? 0 : (buffer[headBytes - 1] ?? 0));
			if (isBegun && length <= end && !isPause) return;
			const isPacket = isBegun && length > end && checksum(buffer.subarray(0, end)) === buffer[end];
			if (isPacket) this.#onPacket(buffer[magic.length] ?? 0, buffer.subarray(headBytes, end));
			const removed = isPacket ? end + 1 : 1;
			buffer.copyWithin(0, removed, length);
			this.#length -= removed;
		}
	}
}

/** @param data at most 255 bytes */
export function encodePacket(type: number, data: Iterable<number>): Uint8Array {
	const bytes = [...magic, type, 0, ...data];
	bytes[magic.length + 1] = bytes.length - headBytes;
	return Uint8Array.from([...bytes, checksum(bytes), lineFeed]);
}

/** @param type of a command or a result @param data at most 253 bytes */
export function encodeCommand(type: number, id: number, data: Uint8Array): Uint8Array {
	return encodePacket(type, [id, data.length, ...data]);
}

/** Each after its length. @param fields at most 255 bytes each */
export function joinFields(fields: readonly Uint8Array[]): Uint8Array {
	return Uint8Array.from(fields.flatMap((field) => [field.length, ...field]));
}

/** @returns views @throws RangeError where the lengths do not fit */
export function splitFields(data: Uint8Array): readonly Uint8Array[] {
	const fields: Uint8Array[] = [];
	for (let at = 0; at < data.length; ) {
		const end = at + 1 + (data[at] ?? 0);
		if (end > data.length) throw new RangeError("a field is longer than its packet");
		fields.push(data.subarray(at + 1, end));
		at = end;
	}
	return fields;
}

function checksum(bytes: Iterable<number>): number {
	let sum = 0;
	for (const byte of bytes) sum += byte;
	return sum & 0xff;
}
