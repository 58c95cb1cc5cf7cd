/** Speaks texts with the program of SPEECH_COMMAND: the text on its standard input, a WAV file on its standard output. */

import { spawn } from "node:child_process";
import type { Core } from "../extension.js";
import { HttpProblem } from "../problem.js";
import { Queue } from "../storage/queue.js";
import { convertWav } from "./pcm.js";

const longestMs = 30_000;
const longestBytes = 4 << 20;
const waitingAtMost = 10;

/** @returns the pieces of a WAV file as devices play it @throws {HttpProblem} */
export type Speak = (text: string) => Promise<readonly Buffer[]>;

export interface Speech {
	readonly speak: Speak;
	/** Ends the program that runs. */
	readonly close: () => void;
}

/** Nothing of a text is logged, or in a program's arguments, which other users of the computer can read. */
export function createSpeech({
	settings,
	log,
	yieldToLoop,
}: Pick<Core, "settings" | "log" | "yieldToLoop">): Speech {
	const { speechCommand } = settings;
	const queue = new Queue();
	const ending = new AbortController();
	let waiting = 0;
	const speak: Speak = async (text) => {
		if (!speechCommand)
			throw new HttpProblem(
				501,
				"This gateway has no voice: set SPEECH_COMMAND to a program that speaks, and start it again.",
			);
		if (waiting >= waitingAtMost)
			throw new HttpProblem(503, `${waitingAtMost} texts wait to be spoken; try again.`);
		waiting += 1;
		const spoken = queue.add(() => run(speechCommand, text, ending.signal));
		try {
			const pieces: Buffer[] = [];
			for (const piece of convertWav(await spoken)) {
				pieces.push(piece);
				await yieldToLoop();
			}
			return pieces;
		} catch (error) {
			const why = error instanceof Error ? error.message : String(error);
			log.warn({ program: speechCommand[0], problem: why }, "speech");
			throw new HttpProblem(502, `The program of SPEECH_COMMAND gave no sound. ${why}`);
		} finally {
			waiting -= 1;
		}
	};
	return { speak, close: () => ending.abort() };
}

/** @throws {Error} its message is a sentence that says why there is no output */
function run(
	[program = "", ...words]: readonly string[],
	text: string,
	signal: AbortSignal,
): Promise<Buffer> {
	return new Promise((resolve, reject) => {
		const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], signal, killSignal: "SIGKILL" });
		const chunks: Buffer[] = [];
		let size = 0;
		const give = (why: string) => {
			child.kill("SIGKILL");
			reject(new Error(why));
		};
		const timer = setTimeout(() => give(`It took longer than ${longestMs / 1000} s.`), longestMs);
		child.once("error", ({ message }) => {
			clearTimeout(timer);
			reject(new Error(`It cannot be started (${message}).`));
		});
		// It may end without having read all.
		child.stdin.on("error", () => {});
		child.stdin.end(text);
		child.stdout.on("data", (chunk: Buffer) => {
			size += chunk.length;
			if (size > longestBytes) give(`Its output is larger than ${longestBytes >> 20} MB.`);
			else chunks.push(chunk);
		});
		child.once("close", (code, signal) => {
			clearTimeout(timer);
			if (code === 0) resolve(Buffer.concat(chunks));
			else reject(new Error(`It ended with ${signal ?? `code ${code}`}.`));
		});
	});
}
