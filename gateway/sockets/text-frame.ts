/** WebSocket frames of a server (RFC 6455, section 5.2) that are made once and written to many sockets. */

/** FIN and the opcode of text. */
const finalText = 0x81;
const twoByteLength = 126;
const eightByteLength = 127;
/** By the length's size. */
const headerBytes = Object.freeze({ small: 2, two: 4, eight: 10 });

/** @param parts of its text, bytes in UTF-8 @returns the whole frame */
export function textFrame(...parts: readonly (string | Buffer)[]): Buffer {
	let length = 0;
	for (const part of parts) length += Buffer.byteLength(part);
	const header =
		length < twoByteLength ? headerBytes.small : length < 0x1_0000 ? headerBytes.two : headerBytes.eight;
	const frame = Buffer.allocUnsafe(header + length);
	frame[0] = finalText;
	if (header === headerBytes.small) frame[1] = length;
	else if (header === headerBytes.two) {
		frame[1] = twoByteLength;
		frame.writeUInt16BE(length, 2);
	} else {
		frame[1] = eightByteLength;
		frame.writeBigUInt64BE(BigInt(length), 2);
	}
	let at = header;
	for (const part of parts) at += typeof part === "string" ? frame.write(part, at) : part.copy(frame, at);
	return frame;
}

/** @param frame as made by `textFrame` @returns its text in UTF-8 */
export function payloadOf(frame: Buffer): Buffer {
	if (frame[1] === twoByteLength) return frame.subarray(headerBytes.two);
	return frame.subarray(frame[1] === eightByteLength ? headerBytes.eight : headerBytes.small);
}
