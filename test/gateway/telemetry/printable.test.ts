import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { printable, printableJson, printableLines } from "../../../gateway/telemetry/printable.js";
import { character } from "../../support/arbitraries.js";
import "../../support/property-runs.js";

const harmful = fc.constantFrom(
	"\x1b",
	"\x07",
	"\r",
	"\n",
	"\x7f",
	"\x9b",
	"\u202e",
	"\u2066",
	"\u2028",
	"\u{e0001}",
	"\ud800",
);
const text = fc.string({ unit: fc.oneof(harmful, character) });

describe("printable text", () => {
	test("contains no control characters", () => {
		fc.assert(
			fc.property(text, (original) => {
				assert.doesNotMatch(printable(original), /(?!\t)[\p{Cc}\p{Bidi_Control}]/u);
				assert.equal(printableLines(original).split("\n").length, original.split("\n").length);
			}),
		);
	});

	test("has the same value as JSON", () => {
		fc.assert(
			fc.property(text, (original) => {
				const json = printableJson(`${JSON.stringify(original)}\n`);
				assert.doesNotMatch(json.slice(0, -1), /[\p{Cc}\p{Bidi_Control}]/u);
				assert.equal(JSON.parse(json), original);
			}),
		);
	});

	test("keeps letters of every script, emoji and tabs", () => {
		for (const line of ["Grüße\t日本語 שלום 😀", ""]) assert.equal(printable(line), line);
	});
});
