import assert from "node:assert/strict";
import { test } from "node:test";
import { OffHeapText } from "../../../gateway/sessions/off-heap-text.js";

test("returns the text set last, after texts of any length", () => {
	const kept = new OffHeapText();
	assert.equal(kept.text, undefined);
	for (const text of ["x", "x".repeat(5000), "", "ä€🎵".repeat(100), "y".repeat(127), "z".repeat(128)]) {
		kept.set(Buffer.from(text));
		assert.equal(kept.text, text);
	}
});

test("isolates texts of devices", () => {
	const [first, second] = [new OffHeapText(), new OffHeapText()];
	first.set(Buffer.from("first"));
	second.set(Buffer.from("second"));
	first.set(Buffer.from("again"));
	assert.deepEqual([first.text, second.text], ["again", "second"]);
});
