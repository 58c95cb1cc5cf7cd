/** First byte of a whole text message (RFC 6455, 5.2). */
const wholeText = 0x81;
/** Length codes from here on announce a length of two bytes. */
const twoBytes = 126;

/** Decodes the text messages among a client's frames, or its frames with another first byte. */
export function messagesIn(frames: Buffer, first = wholeText): Buffer[] {
	const messages: Buffer[] = [];
	for (let at = 0; at < frames.length; ) {
		const code = frames.readUInt8(at + 1) & 0x7f;
		const length = code === twoBytes ? frames.readUInt16BE(at + 2) : code;
		const start = at + (code === twoBytes ? 8 : 6);
		const mask = frames.subarray(start - 4, start);
		const payload = frames
			.subarray(start, start + length)
			.map((byte, index) => byte ^ (mask[index % 4] ?? 0));
		if (frames[at] === first) messages.push(Buffer.from(payload));
		at = start + length;
	}
	return messages;
}
