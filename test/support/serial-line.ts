/** Pseudo-terminal with a board's end, connected by util-linux's `script`. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { onEnd } from "./cleanup.js";
import { within } from "./eventually.js";
import { pathOf, testMachine, whyMissing } from "./programs.js";

/** Reason to skip tests that need one, or false. */
export const serialLineMissing = whyMissing("script") || findForeignScript();

/** The program of macOS and BSD has other options. */
function findForeignScript(): string | false {
	const isFitting = testMachine.run(pathOf("script"), ["--version"])?.includes("util-linux");
	return isFitting ? false : "script is not that of util-linux, which simulates a serial port";
}

export interface SerialLine {
	/** Path, for example /dev/pts/3. */
	readonly path: string;
	/** Sends as the board. */
	print(text: string | Uint8Array): void;
	/** Bytes received by the board. */
	heard(): string;
	/** Stops the board's reads until `resume`. */
	pause(): void;
	resume(): void;
	/** Unplugs the board. */
	unplug(): Promise<void>;
}

export async function openSerialLine(t: TestContext): Promise<SerialLine> {
	// Terminal without echo or line buffering, held open by `sleep`.
	const hold = 'stty raw -echo; echo "path:$(tty):"; exec sleep 1000000';
	const child: ChildProcess = spawn(pathOf("script"), ["-qfc", hold, "/dev/null"], {
		stdio: ["pipe", "pipe", "ignore"],
		env: { ...process.env, SHELL: "/bin/sh" },
	});
	const exit = once(child, "exit");
	const pause = () => void child.kill("SIGSTOP");
	const resume = () => void child.kill("SIGCONT");
	const unplug = async () => {
		child.kill("SIGTERM");
		// A stopped process ends only after it continues.
		resume();
		await exit;
	};
	onEnd(t, unplug);
	let heard = "";
	const found = new Promise<string>((resolve) => {
		child.stdout?.setEncoding("utf8").on("data", (text: string) => {
			heard += text;
			const found = /path:(\S+):\s*/.exec(heard);
			if (!found) return;
			heard = heard.slice(found.index + found[0].length);
			resolve(found[1] ?? "");
		});
	});
	const path = await within(found, "the path of the pseudo-terminal");
	const print = (text: string | Uint8Array) => void child.stdin?.write(text);
	return { path, print, heard: () => heard, pause, resume, unplug };
}
