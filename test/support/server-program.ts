/** Programs that are ended with the test, such as optional ones that listen on a port of 127.0.0.1. */

import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { type Owner, onEnd } from "./cleanup.js";
import { nextEvent, waitUntil } from "./eventually.js";
import { isListening } from "./ports.js";
import { type ProgramName, pathOf } from "./programs.js";

/** Characters of its log in the error after a failed start. */
const mostSaid = 4_000;

/** Running program and the end of its standard error. */
export interface ServerProgram {
	readonly child: ChildProcess;
	said(): string;
	/** Ends it with a signal (SIGKILL), unless it has ended. */
	end(signal?: NodeJS.Signals): Promise<void>;
}

/** @param path of the program */
export function startProgram(
	t: Owner,
	path: string,
	words: readonly string[],
	options: SpawnOptions = {},
): ServerProgram {
	const child = spawn(path, words, { stdio: ["ignore", "ignore", "pipe"], ...options });
	let said = "";
	child.stderr?.on("data", (chunk) => {
		said = `${said}${chunk}`.slice(-mostSaid);
	});
	const end = async (signal: NodeJS.Signals = "SIGKILL") => {
		if (child.exitCode !== null || child.signalCode !== null) return;
		child.kill(signal);
		await nextEvent(child, "exit");
	};
	onEnd(t, end);
	return { child, said: () => said, end };
}

/** Starts a program. Resolves once it accepts connections. */
export async function startServer(
	t: Owner,
	port: number,
	name: ProgramName,
	...words: readonly string[]
): Promise<ServerProgram> {
	const program = startProgram(t, pathOf(name), words);
	await waitUntil(() => {
		if (program.child.exitCode !== null) throw new Error(`${name} ended: ${program.said()}`);
		return isListening(port);
	});
	if (program.child.exitCode !== null)
		throw new Error(`another process listens on port ${port}: ${program.said()}`);
	return program;
}
