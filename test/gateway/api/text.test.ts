/** Tests of the normalization of texts from people and devices. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseJson, pick, wellFormedJson } from "../../../gateway/api/json.js";
import { cleanText, cutText, freeText } from "../../../gateway/api/text.js";
import { oddText } from "../../support/arbitraries.js";
import { runs } from "../../support/property-runs.js";

/** Lone surrogates become U+FFFD in UTF-8. */
const wellFormed = (text: string) => Buffer.from(text).toString();

test("returns well-formed, normalized and trimmed text", () => {
	for (const [original, kept] of [
		["Living room \ud83d", "Living room \ufffd"],
		["Ku\u0308che", "K\u00fcche"],
		["\ufeff\u00a0 Hall\u200b\u2060\n", "Hall"],
		["Hall  1", "Hall  1"],
		[
			"\u{1f468}\u200d\u{1f469}\u200d\u{1f467} \u2764\ufe0f",
			"\u{1f468}\u200d\u{1f469}\u200d\u{1f467} \u2764\ufe0f",
		],
		["\u200b \u00ad\u2800\u3164\u200d", ""],
	] as const)
		assert.equal(cleanText(original), kept);
	fc.assert(
		fc.property(oddText, (text) => {
			const clean = cleanText(text);
			assert.equal(wellFormed(clean), clean);
			assert.equal(cleanText(clean), clean);
			assert.doesNotThrow(() => encodeURIComponent(clean));
		}),
		{ numRuns: runs(500) },
	);
});

test("truncates text between grapheme clusters", () => {
	assert.equal(cutText(`${"x".repeat(63)}\u{1f642}y`, 64), `${"x".repeat(63)}\u{1f642}`);
	assert.equal(cutText(`${"x".repeat(62)}\u{1f1e9}\u{1f1ea}`, 63), "x".repeat(62));
	assert.equal(cutText("\u{1f642}".repeat(64), 64), "\u{1f642}".repeat(64));
	fc.assert(
		fc.property(oddText, fc.nat(40), (text, length) => {
			const cut = cutText(wellFormed(text), length);
			assert.ok(wellFormed(text).startsWith(cut) && [...cut].length <= length, `cut to ${cut}`);
			assert.equal(wellFormed(cut), cut);
		}),
		{ numRuns: runs(500) },
	);
});

test("reads lone surrogates in JSON as U+FFFD, and other JSON unchanged", () => {
	const parsed = parseJson('{"a\\uDC00":["\\ud83d","\\\\ud83d","\\ud83d\\ude00","\\ud83d\\ud83d\\ude00"]}');
	assert.deepEqual(parsed, { "a\ufffd": ["\ufffd", "\\ud83d", "\u{1f600}", "\ufffd\u{1f600}"] });
	assert.equal(parseJson('"\\ud8"'), undefined);
	fc.assert(
		fc.property(oddText, (text) => {
			const json = wellFormedJson(JSON.stringify({ [text]: text }));
			assert.deepEqual(JSON.parse(json), { [wellFormed(text)]: wellFormed(text) });
		}),
		{ numRuns: runs(500) },
	);
});

test("does not normalize overlong text, which could take seconds", () => {
	const marks = "a\u0301\u0323".repeat(200_000);
	assert.equal(pick(freeText(64), marks), marks);
});
