/**
 * Checks JSON before it is parsed: XS restarts the board when memory runs out, which a short text with many values or
 * levels can cause. XS 13.3 also ends a string at a NUL and would accept invalid JSON.
 */

/** Above what any command needs, with a reserve for later ones. */
const maxLevels = 8;
const maxValues = 64;

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
/** `[` and `{`, `]` and `}`. */
const opening: readonly number[] = Object.freeze([0x5b, 0x7b]);
const closing: readonly number[] = Object.freeze([0x5d, 0x7d]);

/** @throws Error for a NUL, more than 8 levels or more than 64 values */
export function checkJsonLimits(bytes: Uint8Array): void {
	if (bytes.includes(0)) throw new Error("invalid character NUL");
	let levels = 0;
	let values = 1;
	for (let at = 0; at < bytes.byteLength; at++) {
		const byte = bytes[at] ?? 0;
		if (byte === quote) at = endOfString(bytes, at);
		else if (opening.includes(byte)) levels += 1;
		else if (closing.includes(byte)) levels -= 1;
		if (byte === comma || opening.includes(byte)) values += 1;
		if (levels > maxLevels) throw new Error(`more than ${maxLevels} levels`);
		if (values > maxValues) throw new Error(`more than ${maxValues} values`);
	}
}

/** @returns the offset of the closing quote */
function endOfString(bytes: Uint8Array, start: number): number {
	for (let end = bytes.indexOf(quote, start + 1); end >= 0; end = bytes.indexOf(quote, end + 1)) {
		let escapes = 0;
		while (bytes[end - 1 - escapes] === backslash) escapes += 1;
		if (escapes % 2 === 0) return end;
	}
	return bytes.byteLength;
}
