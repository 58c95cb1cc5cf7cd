import assert from "node:assert/strict";
import { closeSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { createLog, linesAMinute } from "../../../gateway/telemetry/log.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { fullPipe, startProcess } from "../../support/gateway-process.js";
import { recordLog } from "../../support/recorded-log.js";

test("add one listener to standard error for many logs", () => {
	createLog("silent");
	const before = process.stderr.listenerCount("error");
	for (let i = 0; i < 20; i += 1) createLog("silent");
	assert.equal(process.stderr.listenerCount("error"), before);
});

describe("warnings with the same message", () => {
	test("are rate-limited per minute, followed by the number omitted", (t) => {
		t.mock.timers.enable({ apis: ["setTimeout"] });
		const { lines, log } = recordLog("debug");
		for (let i = 0; i < 1000; i += 1) log.warn({ i }, "wrong token");
		log.error("something else");
		assert.equal(lines.filter(({ msg }) => msg === "wrong token").length, linesAMinute);
		assert.equal(lines.at(-1)?.msg, "something else");
		t.mock.timers.tick(60_000);
		const { level, cause, leftOut, msg } = lines.at(-1) ?? {};
		const expected = ["warn", "wrong token", 1000 - linesAMinute, "lines left out"];
		assert.deepEqual([level, cause, leftOut, msg], expected);
		log.warn("wrong token");
		assert.equal(lines.at(-1)?.msg, "wrong token");
		t.mock.timers.tick(60_000);
		assert.equal(lines.at(-1)?.msg, "wrong token");
	});

	test("are rate-limited across child loggers", (t) => {
		t.mock.timers.enable({ apis: ["setTimeout"] });
		const { lines, log } = recordLog("debug");
		for (let i = 0; i < 100; i += 1) log.child({ i }).warn("the same");
		assert.equal(lines.length, linesAMinute);
	});

	test("are not limited at other levels", () => {
		const { lines, log } = recordLog("debug");
		for (let i = 0; i < 1000; i += 1) log.info("device: connected");
		assert.equal(lines.length, 1000);
	});
});

test("drops lines if the pipe is full, although esbuild made it blocking", async (t) => {
	const full = fullPipe(join(await temporaryDirectory(t), "pipe"));
	t.after(() => closeSync(full));
	const script = `
		const { createLog } = await import(${JSON.stringify(new URL("../../../gateway/telemetry/log.ts", import.meta.url).href)});
		const log = createLog("info");
		await (await import("esbuild")).transform("");
		const before = process.memoryUsage().rss;
		for (let i = 0; i < 5000; i += 1) log.info({ i, padding: "x".repeat(20_000) }, "a line");
		console.log(process.memoryUsage().rss - before);`;
	const program = ["--import", "tsx", "--input-type=module", "--eval", script];
	const child = startProcess(t, {}, { program, stderr: full });
	assert.ok(child.stdout, "the process has no standard output");
	const grown = Number(await text(child.stdout));
	assert.ok(grown < 60 * 2 ** 20, `${grown} bytes`);
});
