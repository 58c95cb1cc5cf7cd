/**
 * Test process: ends when a test exceeds its timeout (longer on a busy computer), and names the test; reports the
 * processor time of each test. SIGTERM allows a cleanup, SIGKILL ends a synchronous loop.
 * Imported before the test files.
 */

import { writeSync } from "node:fs";
import { afterEach, beforeEach } from "node:test";
import { Worker } from "node:worker_threads";

/** Prefix of lines that `npm test` collects. */
export const unfinishedMark = "Unfinished test: ";
/** Prefix of a test's diagnostic with its processor time in ms. */
export const processorMark = "Processor time in ms: ";
/** Longer than the cleanup of test/support/cleanup.ts. */
const terminationMs = 15_000;

/** Worker thread, since a loop would block timers. */
const watch = `
	const { parentPort, workerData: { limitMs, terminationMs, mark, idle } } = require("node:worker_threads");
	const { writeSync } = require("node:fs");
	const { availableParallelism, loadavg } = require("node:os");
	let start = performance.now();
	const end = (name) => {
		const slowdown = Math.max(1, loadavg()[0] / availableParallelism());
		const remaining = start + limitMs * slowdown - performance.now();
		if (remaining > 0) {
			timer = setTimeout(end, remaining, name);
			return;
		}
		try {
			writeSync(2, mark + name + " took longer than " + limitMs / 1000 + " s\\n");
		} catch {
			// npm test was killed.
		}
		process.kill(process.pid, "SIGTERM");
		setTimeout(() => process.kill(process.pid, "SIGKILL"), terminationMs);
	};
	let timer = setTimeout(end, limitMs, idle);
	parentPort.on("message", (name) => {
		clearTimeout(timer);
		start = performance.now();
		timer = setTimeout(end, limitMs, name);
	});
`;

/** Name shown between tests. */
const idle = "an import, a hook or an open handle";
/** Timeout of a long test; those of the simulator compile the engine and the firmware. */
const longLimitMs = 20 * 60_000;
const limitMs = process.argv[1]?.endsWith(".long.test.js") ? longLimitMs : Number(process.env.TEST_LIMIT_MS);
if (process.env.NODE_TEST_CONTEXT !== undefined && limitMs > 0) {
	const workerData = { limitMs, terminationMs, mark: unfinishedMark, idle };
	const worker = new Worker(watch, { eval: true, workerData, execArgv: [] });
	worker.unref();
	const running = new Set<string>();
	const last = () => [...running].at(-1);
	let counted: NodeJS.CpuUsage | undefined;
	beforeEach(({ name }) => {
		counted ??= process.cpuUsage();
		running.add(name);
		worker.postMessage(last());
	});
	afterEach((context) => {
		running.delete(context.name);
		worker.postMessage(last() ?? idle);
		const { user, system } = process.cpuUsage(counted);
		counted = process.cpuUsage();
		const ms = Math.round((user + system) / 1000);
		if (ms > 0 && "diagnostic" in context) context.diagnostic(processorMark + ms);
	});
	process.on("exit", () => {
		if (running.size > 0) writeSync(2, `${unfinishedMark}${last()}\n`);
	});
}
