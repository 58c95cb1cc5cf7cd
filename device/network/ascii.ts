/** Encodes ASCII without garbage: `Uint8Array.from` would create a string for each character. */
export function bytesOf(ascii: string): Uint8Array {
	const bytes = new Uint8Array(ascii.length);
	for (let at = 0; at < bytes.length; at++) bytes[at] = ascii.charCodeAt(at);
	return bytes;
}
