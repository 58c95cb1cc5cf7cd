/** Frames of the Serial Line Internet Protocol (RFC 1055). */

const endByte = 0xc0;
const escapeByte = 0xdb;
const escapedEnd = 0xdc;
const escapedEscape = 0xdd;

export function slipEncode(packet: Uint8Array): Buffer {
	const bytes: number[] = [endByte];
	for (const byte of packet) {
		if (byte === endByte) bytes.push(escapeByte, escapedEnd);
		else if (byte === escapeByte) bytes.push(escapeByte, escapedEscape);
		else bytes.push(byte);
	}
	return Buffer.from([...bytes, endByte]);
}

export class SlipDecoder {
	#packet: number[] = [];
	#isEscaped = false;

	/** @returns packets completed by these bytes */
	decode(bytes: Uint8Array): readonly Buffer[] {
		const packets: Buffer[] = [];
		for (const byte of bytes) {
			if (byte === endByte) {
				if (this.#packet.length > 0) packets.push(Buffer.from(this.#packet));
				this.#packet = [];
			} else if (this.#isEscaped) this.#packet.push(byte === escapedEnd ? endByte : escapeByte);
			else if (byte !== escapeByte) this.#packet.push(byte);
			this.#isEscaped = byte === escapeByte;
		}
		return packets;
	}
}
