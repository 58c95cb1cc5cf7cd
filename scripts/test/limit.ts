/**
 * Ends a test process when a test exceeds its timeout, and names the test. SIGTERM allows a cleanup, SIGKILL ends a synchronous loop.
 * Imported before the test files, with the timeout in ms as query.
 */

import { writeSync } from "node:fs";
import { afterEach, beforeEach } from "node:test";
import { Worker } from "node:worker_threads";

/** Prefix of lines that `npm test` collects. */
export const unfinishedMark = "Unfinished test: ";
/** Longer than the cleanup of test/support/cleanup.ts. */
const terminationMs = 15_000;

/** Worker thread, since a loop would block timers. */
const watch = `
	const { parentPort, workerData: { limitMs, terminationMs, mark, idle } } = require("node:worker_threads");
	const { writeSync } = require("node:fs");
	const end = (name) => {
		writeSync(2, mark + name + " took longer than " + limitMs / 1000 + " s\\n");
		process.kill(process.pid, "SIGTERM");
		setTimeout(() => process.kill(process.pid, "SIGKILL"), terminationMs);
	};
	let timer = setTimeout(end, limitMs, idle);
	parentPort.on("message", (name) => {
		clearTimeout(timer);
		timer = setTimeout(end, limitMs, name);
	});
`;

/** Name shown between tests. */
const idle = "an import, a hook or an open handle";
const limitMs = Number(new URL(import.meta.url).searchParams.get("ms"));
if (limitMs > 0) {
	const workerData = { limitMs, terminationMs, mark: unfinishedMark, idle };
	const worker = new Worker(watch, { eval: true, workerData, execArgv: [] });
	worker.unref();
	const running = new Set<string>();
	const last = () => [...running].at(-1);
	beforeEach(({ name }) => {
		running.add(name);
		worker.postMessage(last());
	});
	afterEach(({ name }) => {
		running.delete(name);
		worker.postMessage(last() ?? idle);
	});
	process.on("exit", () => {
		if (running.size > 0) writeSync(2, `${unfinishedMark}${last()}\n`);
	});
}
