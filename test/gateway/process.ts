/** The gateway as a process of its own, as `npm start` runs it, which can be sent a signal, be killed and be measured. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { constants, openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { onEnd } from "../support/cleanup.js";

type Environment = Readonly<Record<string, string>>;

interface ProcessOptions {
	/** What Node runs; by default the gateway's sources. */
	readonly program?: readonly string[];
	/** What follows on the command line. */
	readonly words?: readonly string[];
	/** Where its standard error goes; by default it can be read here. */
	readonly stderr?: number | "pipe";
	readonly stdout?: number | "pipe";
}

/**
 * Starts it on a free port, with nothing of this process' own environment but the path. It is killed when the test ends.
 */
export function startProcess(
	t: TestContext,
	environment: Environment,
	options: ProcessOptions = {},
): ChildProcess {
	const {
		program = ["--import", "tsx", "gateway/main.ts"],
		words = [],
		stdout = "pipe",
		stderr = "pipe",
	} = options;
	const child = spawn(process.execPath, [...program, ...words], {
		env: { PATH: process.env.PATH, PORT: "0", ...environment },
		stdio: ["ignore", stdout, stderr],
	});
	onEnd(t, async () => {
		if (child.exitCode !== null || child.signalCode !== null) return;
		child.kill("SIGKILL");
		await once(child, "exit");
	});
	return child;
}

/** What it prints on standard output, by name, up to the last line that it prints at its start. */
export async function printed(child: ChildProcess): Promise<Readonly<Record<string, string>>> {
	const lines: Record<string, string> = {};
	if (!child.stdout) throw new Error("no output");
	for await (const line of createInterface(child.stdout)) {
		const [name = "", value = ""] = line.split(/ {2,}/);
		lines[name] = value;
		if (name === "Tokens") return lines;
	}
	throw new Error("it ended before it was ready");
}

/** @returns a descriptor of a pipe that takes no byte more, and that no one reads */
export function fullPipe(path: string): number {
	execFileSync("mkfifo", [path]);
	const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
	try {
		for (;;) writeSync(pipe, Buffer.alloc(4096));
	} catch {
		return pipe;
	}
}
