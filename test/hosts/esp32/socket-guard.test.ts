import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { guardCallbacks } from "../../../hosts/esp32/socket-guard.js";

const socket = { name: "a socket" };

describe("guarded socket", () => {
	let traced: string[] = [];
	beforeEach(() => {
		traced = [];
	});
	const report = (text: string) => {
		traced.push(text);
	};

	test("forwards all calls with the socket as `this`", () => {
		const heard: unknown[] = [];
		const guarded = guardCallbacks<typeof socket>(
			{
				onReadable(byteCount) {
					heard.push([this.name, "readable", byteCount]);
				},
				onWritable(byteCount) {
					heard.push([this.name, "writable", byteCount]);
				},
				onError() {
					heard.push([this.name, "error"]);
				},
			},
			report,
		);
		guarded.onWritable.call(socket, 5744);
		guarded.onReadable.call(socket, 12);
		guarded.onError.call(socket);
		assert.deepEqual(heard, [
			["a socket", "writable", 5744],
			["a socket", "readable", 12],
			["a socket", "error"],
		]);
	});

	test("turns an exception into an error and traces it", () => {
		let errors = 0;
		const guarded = guardCallbacks<typeof socket>(
			{
				onReadable() {
					throw new Error("certificate rejected");
				},
				onError() {
					errors += 1;
				},
			},
			report,
		);
		guarded.onReadable.call(socket, 1);
		assert.equal(errors, 1);
		assert.match(traced.join(""), /certificate rejected/);
	});

	test("reports one error and nothing after it", () => {
		const heard: string[] = [];
		const guarded = guardCallbacks<typeof socket>(
			{
				onReadable() {
					heard.push("readable");
				},
				onError() {
					heard.push("error");
				},
			},
			report,
		);
		guarded.onError.call(socket);
		guarded.onError.call(socket);
		guarded.onReadable.call(socket, 3);
		guarded.onWritable.call(socket, 3);
		assert.deepEqual(heard, ["error"]);
	});
});
