import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { Bench, load } from "./board-bench.js";

/** Output of a board from its set-up on, and the function that XS calls when the firmware ends. */
async function setUp() {
	const bench = new Bench();
	const printed: string[] = [];
	const noted: string[][] = [];
	const kept: string[] = [];
	let drains = 0;
	Object.assign(bench.natives, {
		board_crash_note: (...texts: string[]) => noted.push(texts),
		board_trace: (text: string) => kept.push(text),
		board_print: (text: string) => printed.push(text),
		board_drain_console: () => {
			drains += 1;
		},
		board_read_mac: () => {},
	});
	const { default: run } = await load("esp32/setup-target.ts", bench);
	assert.ok(typeof run === "function", "setup-target.ts exports no function");
	await new Promise<void>((done) => Reflect.apply(run, undefined, [done]));
	const abort: unknown = Reflect.get(globalThis, "abort");
	assert.ok(typeof abort === "function", "abort is no function");
	return {
		printed: () => printed.join(""),
		noted: () => noted,
		kept,
		/** Printed by XS, in release builds too; the first line names the program. */
		traced: () => bench.traced.slice(1),
		drains: () => drains,
		abort: (...values: unknown[]): unknown => Reflect.apply(abort, undefined, values),
	};
}

describe("end of a board's firmware", () => {
	afterEach(() => {
		for (const name of ["abort", "trace"]) Reflect.deleteProperty(globalThis, name);
	});

	test("prints nothing at the start except trace output, which is kept", async () => {
		const { printed, traced, kept } = await setUp();
		assert.equal(printed(), "");
		const trace: unknown = Reflect.get(globalThis, "trace");
		assert.ok(typeof trace === "function", "trace is no function");
		trace("Wi-Fi ", "connecting\n");
		assert.deepEqual([traced(), kept], Array(2).fill(["Wi-Fi ", "connecting\n"]));
	});

	test("is reported in one line with its kind, the exception and its location, before the restart", async () => {
		const { abort, printed, noted, drains } = await setUp();
		const error = new TypeError("no volume");
		error.stack = "TypeError: no volume\n at toggle ()\n at onPressed ()";
		assert.equal(abort("unhandled exception", error), undefined);
		assert.equal(
			printed(),
			"\nXS abort: unhandled exception: TypeError: no volume, at toggle (), at onPressed ()\n",
		);
		assert.equal(drains(), 1);
		assert.deepEqual(noted(), [
			["exception", "unhandled exception", ""],
			["exception", "TypeError: no volume", "at toggle ()\nat onPressed ()"],
		]);
	});

	test("is reported with its kind, which XS names differently", async () => {
		for (const [name, kind] of [
			["memory full", "out_of_memory"],
			["not enough keys", "out_of_memory"],
			["unhandled rejection", "rejection"],
			["too much computation", "watchdog"],
			["dead strip", "exception"],
		] as const) {
			const { abort, noted } = await setUp();
			abort(name, undefined);
			assert.deepEqual(noted(), [[kind, name, ""]]);
		}
	});

	test("is reported even if the exception cannot be described, and once even if that aborts too", async () => {
		const { abort, printed, noted, drains } = await setUp();
		const error = new Error();
		Object.defineProperty(error, "stack", {
			get() {
				abort("memory full");
				throw new Error("no memory");
			},
		});
		assert.throws(() => abort("unhandled exception", error), /no memory/);
		assert.equal(printed(), "\nXS abort: unhandled exception\n");
		assert.deepEqual(noted(), [["exception", "unhandled exception", ""]]);
		assert.equal(drains(), 1);
	});
});
