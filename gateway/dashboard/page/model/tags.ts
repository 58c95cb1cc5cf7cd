/** Tags of devices, tag expressions and tag input. */

import type { Entry } from "../../../api/client/fleet.js";
import { messageOf } from "../../../api/client/request.js";
import { isTag, matchesTags, parseTags, type TagExpression, tag } from "../../../api/tags.js";

/** All tags, sorted. */
export function tagsOf(entries: readonly Entry[]): readonly string[] {
	return [...new Set(entries.flatMap(({ session }) => session.tags ?? []))].sort();
}

/** @returns syntax error of a tag expression; empty for a valid or blank one */
export function problemOf(text: string): string {
	if (text.trim() === "") return "";
	const read = readExpression(text);
	return typeof read === "string" ? read : "";
}

/** @returns function that tells whether a device matches the expression; none matches an invalid one */
export function tagMatcher(text: string): (entry: Entry) => boolean {
	const read = readExpression(text);
	return ({ session }) => typeof read !== "string" && matchesTags(read, session.tags);
}

/** @param text with spaces or commas between @throws {Error} that names what is no tag */
export function readTags(text: string): readonly string[] {
	const words = text.toLowerCase().match(/[^\s,]+/g) ?? [];
	const wrong = words.find((word) => !isTag(word));
	if (wrong === undefined) return words;
	throw new Error(
		`“${wrong}” is no tag: it begins with a letter or digit, has up to ${tag.maxLength} of a to z, 0 to 9, - and _, and is none of and, or, not.`,
	);
}

/** @returns the expression, or why it is none */
function readExpression(text: string): TagExpression | string {
	try {
		return parseTags(text);
	} catch (error) {
		return messageOf(error);
	}
}
