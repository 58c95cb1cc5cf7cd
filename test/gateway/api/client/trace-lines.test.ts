import assert from "node:assert/strict";
import { test } from "node:test";
import { newLines } from "../../../../gateway/api/client/trace-lines.js";

test("extracts new lines and the loss count from a live log message", () => {
	const shown = (text?: string) => ({ last: text === undefined ? undefined : { text } });
	assert.deepEqual(newLines(shown(), { seq: 0, dropped: 0, lines: "a\nb\n" }), ["a", "b"]);
	assert.deepEqual(newLines(shown("a"), { seq: 0, dropped: 0, lines: "a\nb\n" }), ["b"]);
	assert.deepEqual(newLines(shown("b"), { seq: 0, dropped: 0, lines: "a\nb\n" }), []);
	assert.deepEqual(newLines(shown("c"), { seq: 0, dropped: 0, lines: "a\nb\n" }), ["a", "b"]);
	const lossy = newLines(shown("a"), { seq: 1, dropped: 7, lines: "a\n" });
	assert.deepEqual(lossy, ["(7 lines did not fit)", "a"]);
	assert.deepEqual(newLines(shown("a"), { seq: 0, dropped: 0, lines: "" }), []);
});
