/** Gateway as a separate process, started like `npm start`, which can be signaled, killed and measured. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { constants, openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { onEnd } from "./cleanup.js";
import { entryPoint } from "./entry-point.js";
import { nextEvent } from "./eventually.js";
import { bearer } from "./gateway-settings.js";

/** Start-up timeout. A busy computer takes seconds; a gateway on NATS waits until a leader is elected. */
const startMs = 120_000;
/** Characters of its log in the error after a failed start. */
const mostSaid = 4_000;

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
	options: ProcessOptions = {},
): ChildProcess {
	const {
		program = entryPoint("gateway/main.ts"),
		words = [],
		stdout = "pipe",
		stderr = "pipe",
		cwd = process.cwd(),
	} = options;
	const child = spawn(process.execPath, [...program, ...words], {
		env: { PATH: process.env.PATH, PORT: "0", ...environment },
		stdio: ["ignore", stdout, stderr],
		cwd,
	});
	onEnd(t, async () => {
		if (child.exitCode !== null || child.signalCode !== null) return;
		child.kill("SIGKILL");
		await nextEvent(child, "exit");
	});
	return child;
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
	readonly #monitorToken: string;
	#child: ChildProcess | undefined;

	/** @param environment with both tokens */
	constructor(t: TestContext, port: number, environment: Environment) {
		this.#t = t;
		this.port = port;
		this.url = `http://127.0.0.1:${port}`;
		this.#environment = { ...environment, PORT: String(port) };
		this.#monitorToken = environment.MONITOR_TOKEN ?? "";
	}

	/** Resolves once it listens. */
	async start(): Promise<void> {
		const child = startProcess(this.#t, this.#environment);
		this.#child = child;
		let said = "";
		child.stderr?.on("data", (chunk) => {
			said = `${said}${chunk}`.slice(-mostSaid);
		});
		await readStartupOutput(child).catch((error: Error) => {
			throw new Error(`${error.message}:\n${said}`);
		});
		child.stdout?.resume();
	}

	/** Kills it (SIGKILL). */
	async kill(): Promise<void> {
		const child = this.#child;
		this.#child = undefined;
		child?.kill("SIGKILL");
		if (child && child.exitCode === null && child.signalCode === null) await nextEvent(child, "exit");
	}

	suspend(): void {
		this.#child?.kill("SIGSTOP");
	}

	resume(): void {
		this.#child?.kill("SIGCONT");
	}

	/**
	 * Sends an HTTP request to a path below /api/ as a monitor. @throws if there is no response, or its status is not
	 * 200 to 299
	 */
	async call<T>(method: string, path: string, body?: object): Promise<T> {
		const response = await fetch(new URL(path, `${this.url}/api/`), {
			method,
			headers: bearer(this.#monitorToken),
			signal: AbortSignal.timeout(20_000),
			...(body && { body: JSON.stringify(body) }),
		});
		const text = await response.text();
		if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
		return JSON.parse(text);
	}
}
