/** Texts that people give, such as names, rooms and notes: read the same way everywhere, so that equal ones are equal. */

import { string } from "../../device/protocol/schema.js";

/** Halves of surrogate pairs without the other half: UTF-8 and percent-encoding have no form for them. */
const halves = /\p{Surrogate}/gu;
const around = /[\s\u200b\u2060]/;
const invisible = /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]*$/u;
/** Of UTF-16 units a code point, in a text before its normalisation. */
const unitsAtMost = 8;

/** A text of a person: `pick` cleans it before it is checked. @param maxLength in code points */
export function freeText(maxLength: number) {
	return Object.freeze({ ...string(maxLength), isFreeText: true } as const);
}

/**
 * @returns the text as it is kept and compared: well-formed Unicode, normalised (NFC), without space around it (also U+00A0, U+200B,
 * U+2060 and U+FEFF); empty if nothing of it can be seen
 */
export function cleanText(text: string): string {
	let [start, end] = [0, text.length];
	while (start < end && around.test(text.charAt(start))) start += 1;
	while (start < end && around.test(text.charAt(end - 1))) end -= 1;
	if (invisible.test(text)) return "";
	return text.slice(start, end).replace(halves, "\ufffd").normalize("NFC");
}

/** @param maxLength of the schema: a text that is far longer is refused anyway, and normalising it could take long */
export function cleanFreeText(text: string, maxLength: number): string {
	return text.length > maxLength * unitsAtMost ? text : cleanText(text);
}

/** @param maxLength in code points @returns the beginning that is no longer, without a part of a character (grapheme) */
export function cutText(text: string, maxLength: number): string {
	if (text.length <= maxLength) return text;
	let length = 0;
	for (const { segment, index } of new Intl.Segmenter().segment(text)) {
		length += [...segment].length;
		if (length > maxLength) return text.slice(0, index);
	}
	return text;
}

/** @returns undefined if the text is no percent-encoded UTF-8 */
export function percentDecoded(text: string): string | undefined {
	try {
		return decodeURIComponent(text);
	} catch {
		return undefined;
	}
}
