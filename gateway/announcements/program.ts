/** Runs a program with input on stdin or in a file, and returns its stdout. Child processes are killed with it. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "../../device/message-of.js";
import { cutText } from "../api/text.js";
import { printable } from "../telemetry/printable.js";

const longestBytes = 4 << 20;
/** Characters of the error output that are kept, and those of its last line in a message. */
const longestErrors = 4_096;
const longestReason = 200;
/** Placeholder in a command. */
const filePlace = "{file}";
const hasGroups = process.platform !== "win32";

export interface ProgramOptions {
	/** Program and arguments, run without a shell. `{file}` is replaced by the path of a file with the input. */
	readonly command: readonly string[];
	readonly input: string | Uint8Array;
	readonly limitMs: number;
	/** Aborts the program. */
	readonly signal: AbortSignal;
}

/** @throws {Error} with the reason for users */
export async function runProgram(options: ProgramOptions): Promise<Buffer> {
	const { command, input } = options;
	if (!command.includes(filePlace)) return start(options);
	const folder = await mkdtemp(join(tmpdir(), "sound-"));
	const file = join(folder, "input");
	try {
		await writeFile(file, input);
		const words = command.map((word) => (word === filePlace ? file : word));
		return await start({ ...options, command: words, input: "" });
	} catch (error) {
		throw new Error(messageOf(error).replaceAll(file, "the file"));
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

function start({ command, input, limitMs, signal }: ProgramOptions): Promise<Buffer> {
	return new Promise((resolve, reject) => {
		if (signal.aborted) return reject(new Error("The program was stopped."));
		const [program = "", ...words] = command;
		const child = spawn(program, words, { stdio: "pipe", detached: hasGroups });
		const chunks: Buffer[] = [];
		let size = 0;
		let errors = "";
		const end = () => {
			clearTimeout(timer);
			signal.removeEventListener("abort", onAbort);
			killGroup(child);
			child.stdout.destroy();
			child.stderr.destroy();
		};
		const fail = (why: string) => {
			end();
			reject(new Error(why));
		};
		const onAbort = () => fail("The program was stopped.");
		signal.addEventListener("abort", onAbort);
		const timer = setTimeout(() => fail(`The program took longer than ${limitMs / 1000} s.`), limitMs);
		child.once("error", ({ message }) => fail(`The program failed to start (${message}).`));
		// The program may exit without reading all input.
		child.stdin.on("error", () => {});
		child.stdin.end(input);
		child.stdout.on("data", (chunk: Buffer) => {
			size += chunk.length;
			if (size > longestBytes) fail(`The output is larger than ${longestBytes >> 20} MB.`);
			else chunks.push(chunk);
		});
		child.stderr.setEncoding("utf8").on("data", (text: string) => {
			errors = `${errors}${text}`.slice(-longestErrors);
		});
		// Children of the program would keep the pipes open.
		child.once("exit", () => killGroup(child));
		child.once("close", (code, signalName) => {
			if (code !== 0)
				return fail(`The program exited with ${signalName ?? `code ${code}`}${lastLineOf(errors)}.`);
			end();
			resolve(Buffer.concat(chunks));
		});
	});
}

/** Formats the last line as the end of a sentence; empty without one. */
function lastLineOf(text: string): string {
	const [line = ""] = /[^\r\n]*$/.exec(text.trim()) ?? [];
	return line === "" ? "" : `: ${cutText(printable(line.replace(/\.$/, "")), longestReason)}`;
}

function killGroup(child: ChildProcess): void {
	if (child.pid === undefined) return;
	try {
		if (hasGroups) process.kill(-child.pid, "SIGKILL");
		else child.kill("SIGKILL");
	} catch {
		// The process group is already gone.
	}
}
