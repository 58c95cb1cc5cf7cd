/**
 * Packets of Improv (https://www.improv-wifi.com/serial/), interleaved with log lines: `IMPROV`, version, type, length,
 * data, checksum, line feed. Shared by the device and the dashboard.
 */

export const packetType = Object.freeze({ currentState: 1, errorState: 2, command: 3, result: 4 } as const);

/** Command ids: the first byte of a command's and a result's data. The second byte is the length of the rest. */
export const command = Object.freeze({
	/** Fields: network name, password. */
	wifiSettings: 1,
	currentState: 2,
	deviceInformation: 3,
	networks: 4,
	/**
	 * Extension of this project, unused by the standard and its SDKs. Data: the next piece, in ASCII, of a JSON object like
	 * the value of set_settings; empty data ends it. If the settings are rejected, the result has one field, a sentence
	 * that explains what to change.
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

/** `IMPROV` and the version, followed by type and length. */
const magic: readonly number[] = Object.freeze([0x49, 0x4d, 0x50, 0x52, 0x4f, 0x56, 1]);
const headBytes = magic.length + 2;
const maxDataBytes = 255;
const lineFeed = 10;

/** Extracts packets from a byte stream, received in pieces of any size. Other bytes and damaged packets are skipped. */
export class PacketReader {
	readonly #onPacket: (type: number, data: Uint8Array) => void;
	readonly #buffer = new Uint8Array(headBytes + maxDataBytes + 1);
	#length = 0;

	/** @param onPacket called with a view that is valid during the call */
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

	/** Discards an incomplete packet after a pause: it may be no packet, and hide later ones. */
	pause(): void {
		this.#settle(true);
	}

	/** Removes complete packets and bytes that cannot begin one. */
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

/** Concatenates fields, each preceded by its length. @param fields at most 255 bytes each */
export function joinFields(fields: readonly Uint8Array[]): Uint8Array {
	return Uint8Array.from(fields.flatMap((field) => [field.length, ...field]));
}

/** @returns views of the fields @throws RangeError for a field that exceeds the data */
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
