/** Report of a test run: progress by file, failures without Node's own stack lines, and the slowest files. */

import { inspect } from "node:util";
import { processorMark, unfinishedMark } from "./process.js";
import { isLong } from "./selection.js";

/** Event of Node's test runner; its data depends on the type. */
export interface TestEvent {
	readonly type: string;
	readonly data: {
		readonly name?: string | undefined;
		readonly nesting?: number | undefined;
		/** Absolute path. */
		readonly file?: string | undefined;
		readonly message?: string | undefined;
		readonly skip?: string | boolean | undefined;
		readonly todo?: string | boolean | undefined;
		readonly details?: { readonly duration_ms?: number; readonly error?: unknown; readonly type?: string };
	};
}

interface FileResult {
	tests: number;
	/** Duration of its tests in ms. */
	ms: number;
	processorMs: number;
}

const listedFiles = 10;
/** Duration of a quick file above which it is listed, in ms. */
const quickMs = 3_000;
/**
 * Share of a quick file in the processor time of all quick files above which the run fails. A share, since the time itself depends on
 * the computer and its load.
 */
const maxShare = 0.04;

export interface ReportOptions {
	/** Prints the name of each test; default: a line per file. */
	readonly isDetailed: boolean;
	/** Fails if a quick file takes too much of the processor time; only for a run of all quick files. */
	readonly isLimited: boolean;
	/** @returns the path of a source relative to the project, from the absolute path of its output */
	readonly sourceOf: (file: string) => string;
	readonly print: (line: string) => void;
}

export class Report {
	readonly #options: ReportOptions;
	readonly #files = new Map<string, FileResult>();
	readonly #skipped = new Map<string, number>();
	readonly #unfinished: string[] = [];
	/** Names of the current test and of the suites that contain it. */
	#names: string[] = [];
	#file: string | undefined;
	#failed = 0;

	constructor(options: ReportOptions) {
		this.#options = options;
	}

	add({ type, data }: TestEvent): void {
		const { name = "", nesting = 0, message = "", details, file } = data;
		if (type === "test:start") this.#names = [...this.#names.slice(0, nesting), name];
		else if (type === "test:stdout") this.#options.print(message.trimEnd());
		else if (type === "test:stderr") this.#noteErrors(message);
		else if (type === "test:diagnostic" && message.startsWith(processorMark))
			this.#resultOf(file).processorMs += Number(message.slice(processorMark.length));
		else if (type === "test:pass" || type === "test:fail") {
			this.#startFile(file);
			const result = this.#resultOf(file);
			if (nesting === 0) result.ms += details?.duration_ms ?? 0;
			if (details?.type !== "suite") result.tests++;
			this.#end(type === "test:fail", nesting, data);
		}
	}

	/** @returns summary of all files */
	finish(): string {
		this.#startFile(undefined);
		const files = [...this.#files].sort(([, a], [, b]) => b.ms - a.ms);
		const tests = files.reduce((sum, [, { tests }]) => sum + tests, 0);
		const skipped = [...this.#skipped].map(([reason, count]) => `Skipped ${count}: ${reason}`);
		const total = [...this.#skipped.values()].reduce((sum, count) => sum + count, 0);
		return [
			...this.#unfinished,
			"Slowest files (duration, processor time):",
			...files.slice(0, listedFiles).map(([file, { ms, processorMs }]) => {
				const isSlow = !isLong(file) && ms > quickMs;
				return `${seconds(ms)} ${seconds(processorMs)}  ${file}${isSlow ? " (a quick file should take 3 s)" : ""}`;
			}),
			...this.#excessive().map(
				(file) =>
					`${file} takes more than ${100 * maxShare} % of the processor time of all quick files. Make it faster, or name it *.long.test.ts.`,
			),
			...skipped,
			`${tests} tests: ${tests - this.#failed - total} passed, ${this.#failed} failed, ${total} skipped`,
		].join("\n");
	}

	get isFailed(): boolean {
		return this.#failed > 0 || this.#unfinished.length > 0 || this.#excessive().length > 0;
	}

	#excessive(): readonly string[] {
		if (!this.#options.isLimited) return [];
		const quick = [...this.#files].filter(([file]) => !isLong(file));
		const totalMs = quick.reduce((sum, [, { processorMs }]) => sum + processorMs, 0);
		return quick.filter(([, { processorMs }]) => processorMs > maxShare * totalMs).map(([file]) => file);
	}

	#resultOf(file: string | undefined): FileResult {
		const name = file === undefined ? "" : this.#options.sourceOf(file);
		const known = this.#files.get(name);
		if (known) return known;
		const result = { tests: 0, ms: 0, processorMs: 0 };
		this.#files.set(name, result);
		return result;
	}

	/** Prints the result of the previous file, whose tests have all ended. */
	#startFile(file: string | undefined): void {
		const name = file === undefined ? undefined : this.#options.sourceOf(file);
		if (name === this.#file) return;
		const result = this.#files.get(this.#file ?? "");
		if (result && !this.#options.isDetailed)
			this.#options.print(`${seconds(result.ms)}  ${this.#file} (${result.tests})`);
		this.#file = name;
	}

	#end(isFailed: boolean, nesting: number, { details, skip, todo }: TestEvent["data"]): void {
		const names = this.#names.slice(0, nesting + 1);
		const isExpected = todo !== undefined && todo !== false;
		const indent = "  ".repeat(nesting);
		if (isFailed && !isExpected) {
			// A suite fails with each of its tests.
			if (failureType(details?.error) === "subtestsFailed") return;
			this.#failed++;
			this.#options.print(`✖ ${this.#file}: ${names.join(" › ")}\n${describe(details?.error)}`);
		} else if (skip !== undefined && skip !== false) {
			const reason = typeof skip === "string" && skip !== "" ? skip : names.join(" › ");
			this.#skipped.set(reason, (this.#skipped.get(reason) ?? 0) + 1);
		} else if (this.#options.isDetailed && details?.type !== "suite")
			this.#options.print(`${indent}✔ ${names.at(-1)} (${Math.round(details?.duration_ms ?? 0)} ms)`);
	}

	#noteErrors(message: string): void {
		for (const line of message.split(/(?<=\n)/)) {
			if (line.startsWith(unfinishedMark)) this.#unfinished.push(line.trimEnd());
			else this.#options.print(line.trimEnd());
		}
	}
}

function failureType(error: unknown): unknown {
	return error instanceof Error && "failureType" in error ? error.failureType : undefined;
}

/** @returns message and stack of the error of a test, without Node's own lines */
function describe(error: unknown): string {
	const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
	const text = cause instanceof Error ? (cause.stack ?? cause.message) : inspect(cause);
	return text
		.split("\n")
		.filter((line) => !/^\s+at .*(node:|node_modules)/.test(line))
		.map((line) => `    ${line}`)
		.join("\n");
}

function seconds(ms: number): string {
	return `${(ms / 1000).toFixed(1).padStart(7)} s`;
}
