/** Starts xsbug, the debugger of the Moddable SDK, to which a simulated device connects. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import type { Machine } from "../command-line/machine.js";
import type { ModdableSdk } from "../moddable/sdk.js";

/** Fixed port of xsbug. */
const debuggerPort = 5002;
const startTimeoutMs = 20_000;

/**
 * Starts the debugger, and resolves when it accepts connections. The caller ends the process.
 *
 * @param app path of xsbug @returns undefined if it is already running @throws Error if it does not start
 */
export async function startDebugger(
	app: string,
	{ desktop, environment }: ModdableSdk,
	machine: Machine,
): Promise<ChildProcess | undefined> {
	if (await machine.isListening(debuggerPort)) return undefined;
	const command: [string, string[]] = desktop === "mac" ? ["open", ["-W", "-a", app]] : [app, []];
	const child = spawn(...command, { env: environment, stdio: "ignore" });
	const failed = once(child, "exit").then(([code]) => Promise.reject(new Error(`xsbug exited with ${code}`)));
	const deadline = AbortSignal.timeout(startTimeoutMs);
	const listening = async () => {
		while (!(await machine.isListening(debuggerPort))) {
			if (deadline.aborted) throw new Error(`xsbug does not listen on port ${debuggerPort}`);
			await setTimeout(100);
		}
	};
	try {
		await Promise.race([listening(), failed]);
	} catch (error) {
		child.kill();
		throw error;
	}
	failed.catch(() => {});
	return child;
}
