/** Runs a command of the project as a separate process, as a user starts it. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { format } from "node:util";
import { onEnd } from "./cleanup.js";
import { entryPoint } from "./entry-point.js";
import { waitUntil, within } from "./eventually.js";

export interface CommandLine {
	readonly process: ChildProcess;
	/** Output so far, stdout and stderr. */
	readonly output: () => string;
	/** Resolves when the output matches; rejects if the process ends before. */
	printed(pattern: RegExp): Promise<void>;
	readonly exitCode: Promise<number | null>;
	/** Resolves with the exit code when no child process is left. A remaining one keeps the test from ending. */
	processesGone(): Promise<void>;
	type(line: string): void;
}

/** @param script path, for example `scripts/demo.ts` */
export function runCommand(
	t: TestContext,
	script: string,
	args: readonly string[] = [],
	env: Readonly<Record<string, string>> = {},
): CommandLine {
	// Separate process group, so that remaining child processes can be found.
	const child = spawn(process.execPath, [...entryPoint(script), ...args], {
		detached: true,
		env: { ...process.env, DEVICE_TOKEN: "", MONITOR_TOKEN: "", ...env },
	});
	let output = "";
	const waiting = new Set<() => void>();
	const note = (text: string) => {
		output += text;
		for (const look of waiting) look();
	};
	child.stdout.setEncoding("utf8").on("data", note);
	child.stderr.setEncoding("utf8").on("data", note);
	const exitCode = once(child, "close").then(([code]: (number | null)[]) => code ?? null);
	const hasProcesses = () => {
		try {
			return child.pid !== undefined && process.kill(-child.pid, 0);
		} catch {
			return false;
		}
	};
	onEnd(t, () => {
		if (hasProcesses() && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
	});
	return {
		process: child,
		output: () => output,
		get exitCode() {
			return within(exitCode, () => `the end of ${script}, which printed: ${output}`);
		},
		async processesGone() {
			// Children of a killed parent end a moment later.
			await waitUntil(() => !hasProcesses());
		},
		type: (line) => child.stdin.write(`${line}\n`),
		printed(pattern) {
			const found = new Promise<void>((resolve, reject) => {
				const look = () => {
					if (!pattern.test(output)) return;
					waiting.delete(look);
					resolve();
				};
				waiting.add(look);
				exitCode.then((code) => reject(new Error(`exited with ${code} and printed: ${output}`)));
				look();
			});
			return within(found, () => `${pattern} of ${script}, which printed: ${output}`);
		},
	};
}

let calls = 0;

/**
 * Runs a command that ends by itself in this process, which takes a fraction of the time. Calls must not overlap.
 * @param script as for `runCommand`
 */
export async function callCommand(
	script: string,
	args: readonly string[] = [],
	env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number; readonly output: string }> {
	const { argv, exitCode, env: environment } = process;
	const { log, error } = console;
	let output = "";
	const note = (...said: unknown[]) => {
		output += `${format(...said)}\n`;
	};
	calls += 1;
	try {
		Object.assign(console, { log: note, error: note });
		process.argv = [process.execPath, script, ...args];
		process.env = { ...environment, DEVICE_TOKEN: "", MONITOR_TOKEN: "", ...env };
		process.exitCode = undefined;
		await import(`../../${script.replace(/ts$/, "js")}?call=${calls}`);
		return { code: Number(process.exitCode ?? 0), output };
	} finally {
		Object.assign(console, { log, error });
		Object.assign(process, { argv, exitCode, env: environment });
	}
}
