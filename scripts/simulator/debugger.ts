/** Starts xsbug, the Moddable SDK's debugger, to which a simulated device connects when it starts. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { MissingTool, type ModdableSdk } from "../moddable/sdk.js";

/** Fixed in xsbug. */
const debuggerPort = 5002;
const startTimeoutMs = 20_000;

/** @returns its path @throws MissingTool where the SDK was built without it */
export function findDebugger({ tools, folder, desktop }: ModdableSdk): string {
	const program = join(tools, { lin: "xsbug", mac: "xsbug.app", win: "xsbug.exe" }[desktop]);
	if (!existsSync(program))
		throw new MissingTool(
			`--debug needs xsbug, which is not at ${program}. Build it: ` +
				`cd ${join(folder, "build", "makefiles", desktop)} && make release`,
		);
	return program;
}

/**
 * Starts the debugger, and resolves when it accepts connections. The caller ends the process.
 *
 * @returns undefined: one was running already @throws Error where it does not start
 */
export async function startDebugger(sdk: ModdableSdk): Promise<ChildProcess | undefined> {
	const program = findDebugger(sdk);
	if (await isListening()) return undefined;
	const command: [string, string[]] = sdk.desktop === "mac" ? ["open", ["-W", "-a", program]] : [program, []];
	const child = spawn(...command, { env: sdk.environment, stdio: "ignore" });
	const failed = once(child, "exit").then(([code]) => Promise.reject(new Error(`xsbug ended with ${code}`)));
	const deadline = AbortSignal.timeout(startTimeoutMs);
	const listening = async () => {
		while (!(await isListening())) {
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

async function isListening(): Promise<boolean> {
	const socket = connect(debuggerPort, "127.0.0.1");
	try {
		await once(socket, "connect");
		return true;
	} catch {
		return false;
	} finally {
		socket.destroy();
	}
}
