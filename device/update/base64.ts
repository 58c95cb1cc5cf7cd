/** Decodes base64 (RFC 4648, 4). Not all hosts have `Uint8Array.fromBase64`. */

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** @returns undefined unless `text` is canonical base64 of exactly `byteLength` bytes: padded, with zeros in unused bits */
export function decodeBase64(text: string, byteLength: number): Uint8Array | undefined {
	const letters = Math.ceil((byteLength * 4) / 3);
	const padding = "==".slice(0, -letters & 3);
	if (text.length !== letters + padding.length || !text.endsWith(padding)) return undefined;
	const bytes = new Uint8Array(byteLength);
	/** The lowest `count` bits are not assigned to a byte yet. */
	let bits = 0;
	let count = 0;
	let at = 0;
	for (let index = 0; index < letters; index++) {
		const value = alphabet.indexOf(text.charAt(index));
		if (value < 0) return undefined;
		bits = (bits << 6) | value;
		count += 6;
		if (count < 8) continue;
		count -= 8;
		bytes[at] = bits >> count;
		at += 1;
		bits &= (1 << count) - 1;
	}
	return bits === 0 ? bytes : undefined;
}

/** Whether `text` is the base64 of these bytes. */
export function isBase64Of(text: string, bytes: Uint8Array): boolean {
	return decodeBase64(text, bytes.byteLength)?.every((byte, at) => byte === bytes[at]) ?? false;
}
