import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import { reportAborts } from "../../../hosts/moddable/abort-report.js";

/** Calls the function that XS calls before the firmware ends, and records what it reports. */
function setUp() {
	const noted: string[][] = [];
	let printed = "";
	reportAborts({
		note: (...texts) => noted.push(texts),
		print: (text) => {
			printed += text;
		},
		drain: () => {
			printed += "(drained)";
		},
	});
	const abort: unknown = Reflect.get(globalThis, "abort");
	assert.ok(typeof abort === "function", "abort is no function");
	return {
		abort: (...values: unknown[]): unknown => Reflect.apply(abort, undefined, values),
		noted,
		printed: () => printed,
	};
}

describe("end of a board's firmware", () => {
	afterEach(() => Reflect.deleteProperty(globalThis, "abort"));

	test("is reported in one line with its kind, the exception and its location, before the restart", () => {
		const { abort, printed, noted } = setUp();
		const error = new TypeError("no volume");
		error.stack = "TypeError: no volume\n at toggle ()\n at onPressed ()";
		assert.equal(abort("unhandled exception", error), undefined);
		assert.equal(
			printed(),
			"\nXS abort: unhandled exception: TypeError: no volume, at toggle (), at onPressed ()\n(drained)",
		);
		assert.deepEqual(noted, [
			["exception", "unhandled exception", ""],
			["exception", "TypeError: no volume", "at toggle ()\nat onPressed ()"],
		]);
	});

	test("is reported with its kind, which XS names differently", () => {
		for (const [name, kind] of [
			["memory full", "out_of_memory"],
			["not enough keys", "out_of_memory"],
			["unhandled rejection", "rejection"],
			["too much computation", "watchdog"],
			["dead strip", "exception"],
		] as const) {
			const { abort, noted } = setUp();
			abort(name);
			assert.deepEqual(noted, [[kind, name, ""]]);
		}
	});

	test("is reported even if the exception cannot be described, and once even if that aborts too", () => {
		const { abort, printed, noted } = setUp();
		const error = new Error();
		Object.defineProperty(error, "stack", {
			get() {
				abort("memory full");
				throw new Error("no memory");
			},
		});
		assert.throws(() => abort("unhandled exception", error), /no memory/);
		assert.equal(printed(), "\nXS abort: unhandled exception\n(drained)");
		assert.deepEqual(noted, [["exception", "unhandled exception", ""]]);
	});
});
