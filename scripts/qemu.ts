/** `npm run qemu`: runs a board's firmware in QEMU with a real image, boot loader, flash, update and rollback, and the board's parts. */

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { messageOf } from "../device/message-of.js";
import type { Model } from "../device/protocol/models.js";
import { applyInput } from "../hosts/virtual/node/input.js";
import { binFolder, buildBoard, qemuBoardOf } from "./boards/build.js";
import { makeFlashImage, settingsPartition } from "./boards/flash-image.js";
import { needBoardTools } from "./boards/tools.js";
import { exitCodeOf } from "./command-line/child.js";
import { runWords } from "./command-line/command.js";
import { thisMachine } from "./command-line/machine.js";
import { Problems } from "./command-line/problems.js";
import { packageVersion, projectFolder } from "./command-line/project.js";
import { builtInReleaseKeys } from "./command-line/release-keys.js";
import { known, readArguments, usage } from "./qemu/arguments.js";
import { boardPins, EmulatedBoard } from "./qemu/board.js";
import { findQemu, startQemu } from "./qemu/tools.js";

const outputFolder = join(projectFolder, ".cache", "qemu");

await runWords({ name: "qemu", usage, known, run });

async function run(words: readonly string[]): Promise<void> {
	const { model, mode, settings, version = packageVersion(), isAnyVersion = false } = readArguments(words);
	const problems = new Problems();
	const sdk = mode === "keep" ? undefined : needBoardTools(problems, { isAnyVersion });
	const found = mode === "build" ? undefined : problems.need(findQemu(thisMachine()));
	if (problems.areFound) throw problems.asError();
	const host = qemuBoardOf(model);
	const bins = binFolder(outputFolder, host);
	const folder = join(outputFolder, "run", model.toLowerCase());
	const flashFile = join(folder, "flash.bin");
	if (mode === "keep" && !existsSync(flashFile))
		throw new Error("No flash to keep yet. Run it with --gateway and without keep first.");
	if (sdk) {
		console.log(`Building firmware ${version} for QEMU. The first build takes several minutes.`);
		await buildBoard({ sdk, model, host, version, releaseKeys: builtInReleaseKeys(), outputFolder });
	}
	if (!found) return console.log(`Image: ${join(bins, "xs_esp32.bin")}`);
	mkdirSync(folder, { recursive: true });
	if (settings) writeFileSync(flashFile, makeFlashImage(bins, settingsPartition(settings)), { mode: 0o600 });
	await runBoard(found.what, folder, model);
}

async function runBoard(qemu: string, folder: string, model: Model): Promise<void> {
	const { child, stdin, stdout, board: stream } = startQemu({ qemu, folder });
	const board = new EmulatedBoard({ stream, pins: boardPins[model] });
	console.log("QEMU is running. Press Ctrl-C to stop; run it with keep to continue with the same flash.");
	stdout.pipe(process.stdout);
	process.stdin.pipe(stdin);
	createInterface(process.stdin).on("line", (line) => {
		if (!line.startsWith("{")) return;
		try {
			applyInput(board, line);
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
