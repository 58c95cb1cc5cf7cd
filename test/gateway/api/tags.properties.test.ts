import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { matches } from "../../../device/protocol/schema.js";
import {
	matchesTags,
	maxExpressionLength,
	parseTags,
	type TagExpression,
	tag,
} from "../../../gateway/api/tags.js";
import { mutatedText, oddText, valid } from "../../support/arbitraries.js";
import { runs } from "../../support/property-runs.js";

const few = fc.constantFrom("a", "b", "shop-berlin", "not-a", "1_");
const { expression: expressions } = fc.letrec<{ expression: TagExpression }>((tie) => ({
	expression: fc.oneof(
		{ maxDepth: 4 },
		few.map((name) => ({ type: "tag", tag: name }) as const),
		tie("expression").map((of) => ({ type: "not", of }) as const),
		fc
			.tuple(fc.constantFrom("and", "or"), tie("expression"), tie("expression"))
			.map(([type, ...of]) => ({ type, of }) as const),
	),
}));

const strength = { or: 0, and: 1, not: 2, tag: 3 };

/** Formats with minimal parentheses. @param least minimum binding strength */
function print(expression: TagExpression, least = 0): string {
	const { type } = expression;
	const own = strength[type];
	// Right operands bind more strongly, because `and` and `or` are left-associative.
	const text =
		expression.type === "tag"
			? expression.tag
			: expression.type === "not"
				? `not ${print(expression.of, own)}`
				: `${print(expression.of[0], own)} ${type} ${print(expression.of[1], own + 1)}`;
	return own < least ? `(${text})` : text;
}

/** Translates to JavaScript, which has the same precedence. */
function asCode(text: string): string {
	const word = (name: string) =>
		({ and: "&&", or: "||", not: "!" })[name] ?? `tags.has(${JSON.stringify(name)})`;
	return text.replaceAll(/[a-z0-9_-]+/g, word);
}

const wordsOfExpressions = fc
	.array(fc.oneof(few, fc.constantFrom("and", "or", "not", "(", ")", "AND", "Beta", "&", "")), {
		maxLength: 12,
	})
	.map((words) => words.join(" "));

describe("tag expression", () => {
	test("matches the same tags as an equivalent JavaScript expression", () => {
		fc.assert(
			fc.property(expressions, fc.uniqueArray(few), (expression, tags) => {
				const text = print(expression);
				fc.pre(text.length <= maxExpressionLength);
				const meant: unknown = new Function("tags", `return ${asCode(text)}`)(new Set(tags));
				assert.equal(matchesTags(parseTags(text), tags), meant, text);
			}),
			{ numRuns: runs(2_000) },
		);
	});

	test("is parsed from any text, or rejected with position and remedy", () => {
		const texts = fc.oneof(wordsOfExpressions, oddText, mutatedText(expressions.map((tree) => print(tree))));
		fc.assert(
			fc.property(texts, (text) => {
				let expression: TagExpression;
				try {
					expression = parseTags(text);
				} catch (error) {
					assert.ok(error instanceof Error, `threw ${error}`);
					assert.match(error.message, /^(At (character \d+|the end): (write|remove)|Write) .+\.$/s);
					const [, at] = /^At character (\d+):/.exec(error.message) ?? [];
					if (at) assert.ok(Number(at) >= 1 && Number(at) <= text.length, error.message);
					return;
				}
				assert.deepEqual(parseTags(print(expression)), expression);
			}),
			{ numRuns: runs(5_000) },
		);
	});

	test("may have any depth in 500 characters", () => {
		const deep = `${"(".repeat(249)}aa${")".repeat(249)}`;
		assert.deepEqual(parseTags(deep), { type: "tag", tag: "aa" });
		assert.equal(matchesTags(parseTags(`${"not ".repeat(124)}a`), ["a"]), true);
		assert.throws(() => parseTags(`${deep} `), /at most 500 characters; these are 501/);
	});

	test("is rejected with a remedy if invalid", () => {
		const rejections: readonly (readonly [string, string])[] = [
			[" ", "Write tags, joined by and, or and not, such as shop-berlin and not beta."],
			["beta and", "At the end: write a tag."],
			["beta not shop", "At character 6: write and or or before not."],
			["beta shop", "At character 6: write and or or before shop."],
			["beta AND shop", "At character 6: write and in place of AND."],
			["Beta", "At character 1: write beta in place of Beta."],
			["NOT beta", "At character 1: write not in place of NOT."],
			["a and or b", "At character 7: write a tag before or."],
			["a and ()", "At character 8: write a tag before )."],
			["a or (b and c", "At the end: write ) for the ( at character 6."],
			["(a b)", "At character 4: write and or or before b."],
			["a or b)", "At character 7: remove ), or write ( before it."],
			["a & b", "At character 3: write and or or before &."],
			["a and b&c", "At character 7: write a tag in place of b&c, of lower-case letters, digits, - and _."],
		];
		for (const [text, message] of rejections) assert.throws(() => parseTags(text), { message }, text);
	});
});

test("accepts as tags only words usable in an expression", () => {
	fc.assert(
		fc.property(valid(tag), (name) => {
			assert.ok(typeof name === "string", `not a string: ${name}`);
			assert.deepEqual(parseTags(name), { type: "tag", tag: name });
		}),
	);
	for (const name of ["and", "or", "not", "", "-a", "_", "A", "a b", "a\n", "ä", "a".repeat(33)])
		assert.equal(matches(tag, name), false, name);
	for (const name of ["android", "order", "notes", "0", "a".repeat(32)])
		assert.equal(matches(tag, name), true);
});
