import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { guardCallbacks } from "../../../hosts/moddable/socket-guard.js";

const socket = { name: "a socket" };

/** Guards callbacks that record their calls. @param fails thrown by `onReadable` */
function guard(fails?: Error) {
	const heard: unknown[] = [];
	const traced: string[] = [];
	const guarded = guardCallbacks<typeof socket>(
		{
			onReadable(byteCount) {
				if (fails) throw fails;
				heard.push([this.name, "readable", byteCount]);
			},
			onWritable(byteCount) {
				heard.push([this.name, "writable", byteCount]);
			},
			onError() {
				heard.push([this.name, "error"]);
			},
		},
		(text) => traced.push(text),
	);
	return { guarded, heard, traced };
}

describe("guarded socket", () => {
	test("forwards all calls with the socket as `this`, one error and nothing after it", () => {
		const { guarded, heard } = guard();
		guarded.onWritable.call(socket, 5744);
		guarded.onReadable.call(socket, 12);
		for (let times = 0; times < 2; times++) guarded.onError.call(socket);
		guarded.onReadable.call(socket, 3);
		guarded.onWritable.call(socket, 3);
		assert.deepEqual(heard, [
			["a socket", "writable", 5744],
			["a socket", "readable", 12],
			["a socket", "error"],
		]);
	});

	test("turns an exception into an error and traces it", () => {
		const { guarded, heard, traced } = guard(new Error("certificate rejected"));
		guarded.onReadable.call(socket, 1);
		assert.deepEqual(heard, [["a socket", "error"]]);
		assert.match(traced.join(""), /certificate rejected/);
	});
});
