/**
 * Ends a process of tests when one takes too long, and names the test: SIGTERM lets it release what it has started, SIGKILL ends a
 * synchronous loop. Imported before the test files, with the limit in ms as query.
 */

import { writeSync } from "node:fs";
import { afterEach, beforeEach } from "node:test";
import { Worker } from "node:worker_threads";

/** Marks a line for `npm test`. */
export const unfinishedMark = "Unfinished test: ";
/** Longer than test/support/cleanup.ts takes. */
const terminationMs = 15_000;

/** A thread of its own, since a loop keeps timers from firing. */
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

/** Named between tests. */
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
