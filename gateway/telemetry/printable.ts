/**
 * Escapes text of a device or client for printing. Terminals act on control characters (title, clipboard, overwritten
 * lines) and reorder text after a right-to-left override.
 */

const unprintable = /(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Escapes a single line: a line feed becomes `\x0a`, ESC `\x1b`. */
export function printable(line: string): string {
	return line.replace(unprintable, (sign) => {
		const code = sign.codePointAt(0) ?? 0;
		if (code > 0xffff) return `\\u{${code.toString(16)}}`;
		return code > 0xff ? `\\u${hex(code, 4)}` : `\\x${hex(code, 2)}`;
	});
}

/** Keeps line feeds. */
export function printableLines(text: string): string {
	return text.split("\n").map(printable).join("\n");
}

/** Escapes what JSON does not; the value is the same. */
export function printableJson(line: string): string {
	return line.replace(unprintable, (sign) =>
		sign === "\n"
			? sign
			: Array.from({ length: sign.length }, (_, at) => `\\u${hex(sign.charCodeAt(at), 4)}`).join(""),
	);
}

function hex(code: number, digits: number): string {
	return code.toString(16).padStart(digits, "0");
}
