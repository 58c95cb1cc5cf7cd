/** Normalization of texts from people, such as names, rooms and notes, so that equal texts compare equal. */

import { string } from "../../device/protocol/schema.js";

/** Lone surrogates, which UTF-8 and percent-encoding cannot represent. */
const halves = /\p{Surrogate}/gu;
const around = /[\s\u200b\u2060]/;
const invisible = /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]*$/u;
/** Maximum number of UTF-16 units per code point before normalization. */
const maxUnits = 8;

/** Schema of a text from a person, which `pick` normalizes before validation. @param maxLength in code points */
export function freeText(maxLength: number) {
	return Object.freeze({ ...string(maxLength), isFreeText: true } as const);
}

/**
 * Normalizes a text: well-formed Unicode in NFC, without surrounding space (including U+00A0, U+200B, U+2060 and U+FEFF).
 * @returns empty if no character is visible
 */
export function cleanText(text: string): string {
	let [start, end] = [0, text.length];
	while (start < end && around.test(text.charAt(start))) start += 1;
	while (start < end && around.test(text.charAt(end - 1))) end -= 1;
	if (invisible.test(text)) return "";
	return text.slice(start, end).replace(halves, "\ufffd").normalize("NFC");
}

/** Normalizes a text unless it is far longer than `maxLength`, since it is rejected anyway and normalizing could take long. */
export function cleanFreeText(text: string, maxLength: number): string {
	return text.length > maxLength * maxUnits ? text : cleanText(text);
}

/** Truncates a text at a grapheme boundary. @param maxLength in code points */
export function cutText(text: string, maxLength: number): string {
	if (text.length <= maxLength) return text;
	let length = 0;
	for (const { segment, index } of new Intl.Segmenter().segment(text)) {
		length += [...segment].length;
		if (length > maxLength) return text.slice(0, index);
	}
	return text;
}

/** @returns undefined if the text is not percent-encoded UTF-8 */
export function percentDecoded(text: string): string | undefined {
	try {
		return decodeURIComponent(text);
	} catch {
		return undefined;
	}
}
