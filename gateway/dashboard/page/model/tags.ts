/** Tags of devices, tag expressions and tag input. */

import { messageOf } from "../../../../device/message-of.js";
import type { Entry } from "../../../api/client/fleet.js";
import { isTag, matchesTags, parseTags, type TagExpression, tag } from "../../../api/tags.js";

/** All tags, sorted. */
export function tagsOf(entries: readonly Entry[]): readonly string[] {
	return [...new Set(entries.flatMap(({ session }) => session.tags ?? []))].sort();
}

/** "Tags in use: beta, shop." */
export function tagsInUse(entries: readonly Entry[]): string {
	return `Tags in use: ${tagsOf(entries).join(", ") || "none"}.`;
}

/** @returns syntax error of a tag expression; empty for a valid or blank one */
export function problemOf(text: string): string {
	if (text.trim() === "") return "";
	const parsed = parseExpression(text);
	return typeof parsed === "string" ? parsed : "";
}

/** @returns function that tells whether a device matches the expression; none matches an invalid one */
export function tagMatcher(text: string): (entry: Entry) => boolean {
	const parsed = parseExpression(text);
	return ({ session }) => typeof parsed !== "string" && matchesTags(parsed, session.tags);
}

/** Parses tags separated by spaces or commas. @throws {Error} that names an invalid tag */
export function parseTagList(text: string): readonly string[] {
	const words = text.toLowerCase().match(/[^\s,]+/g) ?? [];
	const invalid = words.find((word) => !isTag(word));
	if (invalid === undefined) return words;
	throw new Error(
		`“${invalid}” is not a valid tag. Use up to ${tag.maxLength} of a to z, 0 to 9, - and _, starting with a letter or digit; not “and”, “or” or “not”.`,
	);
}

/** @returns the expression, or its syntax error */
function parseExpression(text: string): TagExpression | string {
	try {
		return parseTags(text);
	} catch (error) {
		return messageOf(error);
	}
}
