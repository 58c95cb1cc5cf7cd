/** Execution of test files with Node's test runner, and their report. */

import { once } from "node:events";
import { relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { groupTests } from "./grouping.js";
import { unfinishedMark } from "./limit.js";
import { Slowest } from "./slowest.js";

/** Event of Node's test runner. */
interface Ended {
	/** A module of a group if its process ended early. */
	readonly file?: string | undefined;
	readonly nesting: number;
	readonly details: { readonly duration_ms: number };
}

export interface ExecutionOptions {
	/** Folder for generated modules. */
	readonly folder: string;
	/** Maximum number of processes. */
	readonly concurrency: number;
}

/** Runs test files and prints the report. @returns the files with a failed test */
export async function runTestFiles(files: readonly string[], options: ExecutionOptions): Promise<string[]> {
	const { folder, concurrency } = options;
	const groups = groupTests(files, folder);
	const failed = new Set<string>();
	const slowest = new Slowest();
	const unfinished: string[] = [];
	const tests = run({ files: [...groups.keys()], concurrency });
	const note = ({ file, nesting, details }: Ended) => {
		if (file !== undefined && nesting === 0) slowest.add(relative("", file), details.duration_ms);
	};
	tests.on("test:stderr", ({ message }) => {
		unfinished.push(...message.split(/(?<=\n)/).filter((line) => line.startsWith(unfinishedMark)));
	});
	tests.on("test:pass", note);
	tests.on("test:fail", (ended) => {
		note(ended);
		if (ended.todo !== undefined && ended.todo !== false) return;
		const file = relative("", ended.file ?? "");
		for (const each of groups.get(file) ?? [file]) failed.add(each);
	});
	const report = tests.compose(new spec());
	report.pipe(process.stdout, { end: false });
	await once(report, "end");
	console.log(`\n${unfinished.join("")}${slowest.format()}`);
	return [...failed].sort();
}
