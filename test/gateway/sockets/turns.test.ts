import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createTurns, delayEnd } from "../../../gateway/sockets/turns.js";

test("each piece of work has a turn of the event loop, first come, first served", async () => {
	const turn = createTurns();
	const done: number[] = [];
	const work = async (piece: number) => {
		await turn();
		done.push(piece);
		if (piece === 1) void work(4);
	};
	for (const round of [1, 2]) {
		for (const piece of [1, 2, 3]) void work(piece);
		for (const soFar of [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4]]) {
			await setImmediate();
			assert.deepEqual(done, soFar, `round ${round}`);
		}
		done.length = 0;
	}
});

/** A stream whose end is to be heard by two, and has come. */
async function ended() {
	const stream = new PassThrough({ autoDestroy: false });
	const heard: string[] = [];
	stream.on("end", () => heard.push("first"));
	stream.once("end", () => heard.push("second"));
	let grant = () => {};
	delayEnd(
		stream,
		() =>
			new Promise((resolve) => {
				grant = resolve;
			}),
	);
	stream.resume().end();
	await setImmediate();
	assert.deepEqual(heard, []);
	return { stream, heard, grant };
}

test("the end of a stream is heard when its turn has come", async () => {
	const { heard, grant } = await ended();
	grant();
	await setImmediate();
	assert.deepEqual(heard, ["first", "second"]);
});

test("and not at all where the stream is destroyed by then", async () => {
	const { stream, heard, grant } = await ended();
	stream.destroy();
	grant();
	await setImmediate();
	assert.deepEqual(heard, []);
});
