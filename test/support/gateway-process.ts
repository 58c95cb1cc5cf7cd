/** Gateway as a separate process, started like `npm start`, which can be signaled, killed and measured. */

import { type ChildProcess, execFileSync } from "node:child_process";
import { constants, openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { entryPoint } from "./entry-point.js";
import { nextEvent } from "./eventually.js";
import { type ServerProgram, startProgram } from "./server-program.js";

/** Start-up timeout. A busy computer takes seconds; a gateway on NATS waits until a leader is elected. */
const startMs = 120_000;

type Environment = Readonly<Record<string, string>>;

interface ProcessOptions {
	/** Node's entry point; default: the gateway's sources. */
	readonly program?: readonly string[];
	/** Command line arguments. */
	readonly words?: readonly string[];
	/** stderr of the process; default: a pipe. */
	readonly stderr?: number | "pipe";
	readonly stdout?: number | "pipe";
	/** Default: the project's folder. */
	readonly cwd?: string;
}

/**
 * Starts it on a free port with an environment of only PATH. It is killed when the test ends.
 */
export function startProcess(
	t: TestContext,
	environment: Environment,
	options?: ProcessOptions,
): ChildProcess {
	return run(t, environment, options).child;
}

function run(t: TestContext, environment: Environment, options: ProcessOptions = {}): ServerProgram {
	const {
		program = entryPoint("gateway/main.ts"),
		words = [],
		stdout = "pipe",
		stderr = "pipe",
		cwd = process.cwd(),
	} = options;
	return startProgram(t, process.execPath, [...program, ...words], {
		env: { PATH: process.env.PATH, PORT: "0", ...environment },
		stdio: ["ignore", stdout, stderr],
		cwd,
	});
}

/** Start-up lines of standard output by name. */
export async function readStartupOutput(child: ChildProcess): Promise<Readonly<Record<string, string>>> {
	const lines: Record<string, string> = {};
	if (!child.stdout) throw new Error("no output");
	const signal = AbortSignal.timeout(startMs);
	for await (const line of createInterface({ input: child.stdout, signal })) {
		const [name = "", value = ""] = line.split(/ {2,}/);
		lines[name] = value;
		if (name === "Tokens") return lines;
	}
	throw new Error(signal.aborted ? `not ready within ${startMs} ms` : "exited before it was ready");
}

/** @returns exit code and standard error, once the process has ended */
export async function endOf(child: ChildProcess): Promise<{ code: number | null; said: string }> {
	let said = "";
	child.stderr?.on("data", (chunk) => {
		said += chunk;
	});
	const [code] = await nextEvent(child, "close");
	return { code, said };
}

/** @returns descriptor of a full pipe without a reader */
export function fullPipe(path: string): number {
	execFileSync("mkfifo", [path]);
	const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
	try {
		for (;;) writeSync(pipe, Buffer.alloc(4096));
	} catch {
		return pipe;
	}
}

/** `npm start` on one port with one data folder, which can be started repeatedly. */
export class GatewayProcess {
	readonly port: number;
	readonly url: string;
	readonly #t: TestContext;
	readonly #environment: Environment;
	#program: ServerProgram | undefined;

	constructor(t: TestContext, port: number, environment: Environment) {
		this.#t = t;
		this.port = port;
		this.url = `http://127.0.0.1:${port}`;
		this.#environment = { ...environment, PORT: String(port) };
	}

	/** Resolves once it listens. */
	async start(): Promise<void> {
		this.#program = run(this.#t, this.#environment);
		const { child, said } = this.#program;
		await readStartupOutput(child).catch((error: Error) => {
			throw new Error(`${error.message}:\n${said()}`);
		});
		child.stdout?.resume();
	}

	/** Kills it (SIGKILL). */
	async kill(): Promise<void> {
		await this.#program?.end();
	}

	suspend(): void {
		this.#program?.child.kill("SIGSTOP");
	}

	resume(): void {
		this.#program?.child.kill("SIGCONT");
	}
}
