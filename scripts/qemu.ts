/** `npm run qemu`: runs a board's firmware in QEMU with a real image, boot loader, flash, update and rollback, and the board's parts. */

import { createInterface } from "node:readline";
import { messageOf } from "../device/message-of.js";
import { applyInput } from "../hosts/virtual/node/input.js";
import { exitCodeOf } from "./command-line/child.js";
import { runWords } from "./command-line/command.js";
import { known, usage } from "./qemu/arguments.js";
import { setUp } from "./qemu/device.js";

await runWords({ name: "qemu", usage, known, run });

async function run(words: readonly string[]): Promise<void> {
	const device = await setUp(words);
	if (!device) return;
	console.log("QEMU is running. Press Ctrl-C to stop; run it with keep to continue with the same flash.");
	const { child, stdin, stdout } = device.qemu;
	stdout.pipe(process.stdout);
	process.stdin.pipe(stdin);
	createInterface(process.stdin).on("line", (line) => {
		if (!line.startsWith("{")) return;
		try {
			applyInput(device.board, line);
		} catch (error) {
			console.error(messageOf(error));
		}
	});
	// The terminal sends Ctrl-C to QEMU too, which then exits.
	process.on("SIGINT", () => {});
	process.on("SIGTERM", () => child.kill("SIGTERM"));
	const code = await exitCodeOf(child);
	process.stdin.pause();
	if (code) throw new Error(`QEMU exited with ${code}.`);
}
