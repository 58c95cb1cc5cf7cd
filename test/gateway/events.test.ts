import assert from "node:assert/strict";
import { test } from "node:test";
import { Events } from "../../gateway/events.js";

test("calls listeners in their order, until they are removed, even by each other", () => {
	const events = new Events();
	const heard: string[] = [];
	const listen = (name: string, then = () => {}) =>
		events.on({
			roomRenamed: (from, to) => {
				heard.push(`${name}: ${from} to ${to}`);
				then();
			},
		});
	listen("first", () => remove());
	const remove = listen("second");
	listen("third");
	events.emit("quietHoursChanged");
	events.emit("roomRenamed", "Hall", "Bar");
	events.emit("roomRenamed", "Bar", "Hall");
	assert.deepEqual(heard, [
		...["first", "second", "third"].map((name) => `${name}: Hall to Bar`),
		...["first", "third"].map((name) => `${name}: Bar to Hall`),
	]);
});
