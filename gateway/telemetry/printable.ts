/**
 * Text of a device or a client, safe to print: a terminal would act on control characters, such as those that set its
 * title, write the clipboard or overwrite a line, and show text after a right-to-left override in another order.
 */

const unprintable = /(?!\t)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** One line: a line feed becomes `\x0a`, ESC `\x1b`. */
export function printable(line: string): string {
	return line.replace(unprintable, (sign) => {
		const code = sign.codePointAt(0) ?? 0;
		if (code > 0xffff) return `\\u{${code.toString(16)}}`;
		return code > 0xff ? `\\u${hex(code, 4)}` : `\\x${hex(code, 2)}`;
	});
}

/** Text whose line feeds are meant. */
export function printableLines(text: string): string {
	return text.split("\n").map(printable).join("\n");
}

/** JSON of one line with the same value, of which JSON escapes only a part. */
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
