/** Tags of devices, and tag expressions such as `shop-berlin and not (beta or test)`, which select devices. */

import { pattern } from "../../device/protocol/schema.js";
import { cutText } from "./text.js";

export const maxTags = 16;
const maxTagLength = 32;
/** Tag; operators of expressions are excluded. */
export const tag = pattern(
	maxTagLength,
	`^(?!and$|or$|not$)[a-z0-9][a-z0-9_-]{0,${maxTagLength - 1}}$`,
	"lower-case letters, digits, - and _, such as shop-berlin, and none of the words and, or and not,",
);
const tagForm = new RegExp(tag.pattern);
/** Limit of an expression, in characters. */
export const maxExpressionLength = 500;

export type TagExpression =
	| { readonly type: "tag"; readonly tag: string }
	| { readonly type: "not"; readonly of: TagExpression }
	| { readonly type: "and" | "or"; readonly of: readonly [TagExpression, TagExpression] };

/**
 * Parses a tag expression. Precedence: `not`, `and`, `or`; parentheses group.
 *
 * @throws {Error} with the position of the problem and what to write there
 */
export function parseTags(text: string): TagExpression {
	if (text.length > maxExpressionLength)
		throw new Error(`Write at most ${maxExpressionLength} characters; these are ${text.length}.`);
	const words = Array.from(text.matchAll(/[()]|[^\s()]+/g), ({ 0: word, index }) => ({
		word,
		at: index + 1,
	}));
	if (words.length === 0)
		throw new Error("Write tags, joined by and, or and not, such as shop-berlin and not beta.");
	let next = 0;

	/** @param what instruction for the next word */
	function wrong(what: string): Error {
		const word = words[next];
		return new Error(`${word ? `At character ${word.at}` : "At the end"}: ${what}.`);
	}

	function joined(operator: "and" | "or", readOperand: () => TagExpression): TagExpression {
		let expression = readOperand();
		while (words[next]?.word === operator) {
			next += 1;
			expression = { type: operator, of: [expression, readOperand()] };
		}
		return expression;
	}

	function readAny(): TagExpression {
		return joined("or", () => joined("and", readOne));
	}

	function readOne(): TagExpression {
		const { word, at } = words[next] ?? {};
		if (word !== "not" && word !== "(") {
			if (!isTag(word)) throw wrong(tagFor(word));
			next += 1;
			return { type: "tag", tag: word };
		}
		next += 1;
		if (word === "not") return { type: "not", of: readOne() };
		const inner = readAny();
		if (next === words.length) throw wrong(`write ) for the ( at character ${at}`);
		if (words[next]?.word !== ")") throw wrong(operatorFor(words[next]?.word));
		next += 1;
		return inner;
	}

	const expression = readAny();
	if (next < words.length) throw wrong(operatorFor(words[next]?.word));
	return expression;
}

/** @param word undefined: there is none */
export function isTag(word: string | undefined): word is string {
	return word !== undefined && tagForm.test(word);
}

/** @param tags of a device; undefined: none */
export function matchesTags(expression: TagExpression, tags: readonly string[] = []): boolean {
	switch (expression.type) {
		case "tag":
			return tags.includes(expression.tag);
		case "not":
			return !matchesTags(expression.of, tags);
		case "and":
			return expression.of.every((part) => matchesTags(part, tags));
		case "or":
			return expression.of.some((part) => matchesTags(part, tags));
	}
}

/** @param word found in place of a tag; undefined: the end */
function tagFor(word = ""): string {
	if (word === "") return "write a tag";
	if (word === ")" || word === "and" || word === "or") return `write a tag before ${word}`;
	const small = word.toLowerCase();
	if (small === "not" || isTag(small)) return `write ${small} in place of ${word}`;
	return `write a tag in place of ${cutText(word, maxTagLength)}, of lower-case letters, digits, - and _`;
}

/** @param word found in place of an operator */
function operatorFor(word = ""): string {
	if (word === ")") return "remove ), or write ( before it";
	const small = word.toLowerCase();
	if (small === "and" || small === "or") return `write ${small} in place of ${word}`;
	return `write and or or before ${cutText(word, maxTagLength)}`;
}
