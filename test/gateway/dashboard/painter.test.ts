import assert from "node:assert/strict";
import { test } from "node:test";
import { Painter } from "../../../gateway/dashboard/page/app/painter.js";

test("notifies listeners once per frame, also of what they mark themselves, until they are removed", () => {
	const frames: (() => void)[] = [];
	const painter = new Painter((paint) => frames.push(paint));
	const painted: string[] = [];
	painter.listen("link", () => {
		painted.push("link");
		painter.mark("list");
	});
	const end = painter.listen("list", () => painted.push("list"));
	const paintAll = () => {
		for (const paint of frames.splice(0)) paint();
	};
	painter.mark("link");
	painter.mark("link");
	paintAll();
	assert.deepEqual(painted, ["link"]);
	paintAll();
	assert.deepEqual(painted, ["link", "list"]);
	end();
	painter.mark("list");
	paintAll();
	assert.deepEqual([painted, frames], [["link", "list"], []]);
});
