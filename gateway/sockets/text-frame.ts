/**
 * Unmasked WebSocket text frames (RFC 6455, section 5.2), encoded once and written to many sockets. With 10,000 devices
 * and 20 monitors (`npm run bench -- relay`) a report costs 58 µs, instead of 73 if `ws` encodes each frame.
 */

/** First byte: FIN bit and text opcode. */
const finalText = 0x81;
/** Length codes that announce a length of two or eight bytes. */
const [inTwoBytes, inEightBytes] = [126, 127];

/** Encodes a frame. @param parts parts of the payload; buffers are UTF-8 */
export function textFrame(...parts: readonly (string | Buffer)[]): Buffer {
	let length = 0;
	for (const part of parts) length += Buffer.byteLength(part);
	const code = length < inTwoBytes ? length : length < 0x1_0000 ? inTwoBytes : inEightBytes;
	let at = headerBytes(code);
	const frame = Buffer.allocUnsafe(at + length);
	frame[0] = finalText;
	frame[1] = code;
	if (code === inTwoBytes) frame.writeUInt16BE(length, 2);
	if (code === inEightBytes) frame.writeBigUInt64BE(BigInt(length), 2);
	for (const part of parts) at += typeof part === "string" ? frame.write(part, at) : part.copy(frame, at);
	return frame;
}

/** Returns the payload of a frame made by `textFrame`, in UTF-8. */
export function payloadOf(frame: Buffer): Buffer {
	return frame.subarray(headerBytes(frame[1]));
}

/** @param code second byte of the frame */
function headerBytes(code: number | undefined): number {
	return code === inTwoBytes ? 4 : code === inEightBytes ? 10 : 2;
}
