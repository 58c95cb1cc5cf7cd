import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { delayEnd, readInPieces } from "../../../gateway/guard/pieces.js";
import { createYield } from "../../../gateway/sockets/event-loop.js";

/** An ended stream with two listeners. */
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

test("the end of a stream is emitted in its turn", async () => {
	const { heard, grant } = await ended();
	grant();
	await setImmediate();
	assert.deepEqual(heard, ["first", "second"]);
});

test("and not at all if the stream is destroyed by then", async () => {
	const { stream, heard, grant } = await ended();
	stream.destroy();
	grant();
	await setImmediate();
	assert.deepEqual(heard, []);
});

/** A stream that is read as `ws` does it, and what was read in each turn. */
function readByTurns() {
	const stream = new PassThrough({ highWaterMark: 1 << 20 });
	const socket = { isPaused: false, readyState: 1, OPEN: 1 } satisfies Parameters<typeof readInPieces>[1];
	const state: { isPaused: boolean; readyState: 0 | 1 | 2 | 3; OPEN: 1 } = socket;
	const pieces: Buffer[] = [];
	stream.on("data", (piece) => pieces.push(piece));
	readInPieces(stream, state, createYield());
	return { stream, state, pieces };
}

const bytes = Buffer.from(Array.from({ length: 60_000 }, (_, index) => index % 251));

test("what a WebSocket has received is parsed in small pieces, one per turn, in order", async () => {
	const { stream, pieces } = readByTurns();
	let isEnded = false;
	stream.on("end", () => {
		isEnded = true;
	});
	stream.write(bytes);
	stream.end("the end");
	for (let before = 0; !isEnded; before = pieces.length) {
		await setImmediate();
		assert.ok(pieces.length <= before + 2, `${pieces.length - before} in one turn`);
	}
	assert.ok(pieces.every(({ length }) => length <= 4096));
	assert.deepEqual(Buffer.concat(pieces), Buffer.concat([bytes, Buffer.from("the end")]));
});

test("and not while it is paused, nor after its close frame", async () => {
	const { stream, state, pieces } = readByTurns();
	stream.write(bytes);
	state.isPaused = true;
	for (let turn = 0; turn < 20; turn += 1) await setImmediate();
	assert.equal(pieces.length, 1);
	state.readyState = 2;
	stream.destroy();
	await setImmediate();
	assert.deepEqual([pieces.length, stream.readableLength], [1, 0]);
});
