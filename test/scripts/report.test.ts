import assert from "node:assert/strict";
import { test } from "node:test";
import { processorMark, unfinishedMark } from "../../scripts/test/process.js";
import { Report, type TestEvent } from "../../scripts/test/report.js";

type Data = TestEvent["data"];

/** @returns printed lines, with "." for the start of the project's paths */
function report(isDetailed: boolean, ...events: readonly (readonly [type: string, data: Data])[]) {
	const lines: string[] = [];
	const sourceOf = (file: string) => file.replace("/project/", "");
	const made = new Report({ isDetailed, isLimited: true, sourceOf, print: (line) => lines.push(line) });
	for (const [type, data] of events) made.add({ type: `test:${type}`, data });
	const summary = made.finish();
	return { lines, summary, isFailed: made.isFailed };
}

const a = { file: "/project/test/a.test.ts" };
const passed = (name: string, nesting: number, ms = 10): readonly [string, Data][] => [
	["start", { ...a, name, nesting }],
	["pass", { ...a, name, nesting, details: { duration_ms: ms } }],
];

test("prints a line per file, or one per test", () => {
	const events = [...passed("one", 0), ...passed("two", 0, 1000)];
	assert.deepEqual(report(false, ...events).lines, ["    1.0 s  test/a.test.ts (2)"]);
	assert.deepEqual(report(true, ...events).lines, ["✔ one (10 ms)", "✔ two (1000 ms)"]);
});

test("prints a failure once, with its suite and the project's part of the stack", () => {
	const cause = new Error("wrong");
	cause.stack = "Error: wrong\n    at own (/project/test/a.test.ts:1:2)\n    at node:internal/test:1:2";
	const wrong = Object.assign(new Error("wrong", { cause }), { failureType: "testCodeFailure" });
	const inner = Object.assign(new Error("1 subtest failed"), { failureType: "subtestsFailed" });
	const { lines, summary, isFailed } = report(
		false,
		["start", { ...a, name: "suite", nesting: 0 }],
		["start", { ...a, name: "inner", nesting: 1 }],
		["fail", { ...a, name: "inner", nesting: 1, details: { error: wrong } }],
		["fail", { ...a, name: "suite", nesting: 0, details: { error: inner, type: "suite" } }],
	);
	assert.equal(
		lines[0],
		"✖ test/a.test.ts: suite › inner\n    Error: wrong\n        at own (/project/test/a.test.ts:1:2)",
	);
	assert.match(summary, /1 tests: 0 passed, 1 failed, 0 skipped$/);
	assert.equal(isFailed, true);
});

test("lists the reasons of skipped tests", () => {
	const skipped: readonly [string, Data] = ["pass", { ...a, name: "x", nesting: 0, skip: "needs nginx" }];
	const { summary, isFailed } = report(false, skipped, skipped);
	assert.match(summary, /\nSkipped 2: needs nginx\n2 tests: 0 passed, 0 failed, 2 skipped$/);
	assert.equal(isFailed, false);
});

test("fails if a quick file takes more than 4 % of the processor time, and for an unfinished test", () => {
	const takes = (file: string, ms: number) => {
		const files = Array.from({ length: 30 }, (_, index) => `/project/test/${index}.test.ts`);
		const times = [...files.map((other) => [other, 1000] as const), [file, ms] as const];
		const events = times.map(([file, ms]) => ["diagnostic", { file, message: processorMark + ms }] as const);
		return report(false, ...events).isFailed;
	};
	assert.equal(takes("/project/test/a.test.ts", 1250), false);
	assert.equal(takes("/project/test/a.test.ts", 1251), true);
	assert.equal(takes("/project/test/a.long.test.ts", 9000), false);
	const unfinished = report(false, ["stderr", { message: `${unfinishedMark}loop\n` }]);
	assert.match(unfinished.summary, /^Unfinished test: loop\n/);
	assert.equal(unfinished.isFailed, true);
});
