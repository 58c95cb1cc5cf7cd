import assert from "node:assert/strict";
import { test } from "node:test";
import { Selection } from "../../../gateway/dashboard/page/model/selection.js";

test("selects devices individually, and with Shift by ranges in display order", () => {
	let changes = 0;
	const selection = new Selection(() => {
		changes += 1;
	});
	const order = ["e", "d", "c", "b", "a"];
	const selected = () => [...selection.keys].sort().join("");
	selection.toggle("c", order);
	assert.equal(selected(), "c", "a range without a start is one device");
	selection.toggle("d");
	selection.toggle("a", order);
	assert.equal(selected(), "abcd");
	selection.toggle("b");
	selection.toggle("e", order);
	assert.equal(
		selected(),
		"abcde",
		"upwards, from the one that was clicked last, also if that was taken back",
	);
	selection.set([]);
	selection.toggle("gone");
	selection.toggle("a", order);
	assert.equal(selected(), "agone", "start of the range is hidden");
	changes = 0;
	selection.drop("gone");
	selection.drop("gone");
	assert.deepEqual([selected(), changes], ["a", 1]);
});
