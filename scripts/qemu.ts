/** `npm run qemu`: runs a board's firmware in QEMU with a real image, boot loader, flash, update and rollback, and the board's parts. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { applyInput } from "../hosts/virtual/node/input.js";
import { binFolder, buildBoard, qemuBoardOf } from "./boards/build.js";
import { makeFlashImage, settingsPartition, withSettings } from "./boards/flash-image.js";
import { needBoardTools } from "./boards/tools.js";
import { exitCodeOf } from "./command-line/child.js";
import { runCommand } from "./command-line/command.js";
import { thisMachine } from "./command-line/machine.js";
import { Problems } from "./command-line/problems.js";
import { packageVersion, projectFolder } from "./command-line/project.js";
import { builtInReleaseKeys } from "./command-line/release-keys.js";
import { options, type QemuArguments, readArguments, usage } from "./qemu/arguments.js";
import { EmulatedBoard, pinsOf } from "./qemu/board.js";
import { findQemu, startQemu } from "./qemu/tools.js";

const outputFolder = join(projectFolder, ".cache", "qemu");

await runCommand({ name: "qemu", usage, options, run });

async function run(words: readonly string[]): Promise<void> {
	const problems = new Problems();
	const given = readArguments(words, problems);
	const { model, mode } = given;
	const sdk = mode === "keep" ? undefined : needBoardTools(problems, given);
	const found = mode === "build" ? undefined : problems.need(findQemu(thisMachine()));
	if (problems.areFound || !model) throw problems.asError();
	const host = qemuBoardOf(model);
	const bins = binFolder(outputFolder, host);
	const folder = join(outputFolder, "run", model.toLowerCase());
	const flashFile = join(folder, "flash.bin");
	if (mode === "keep" && !existsSync(flashFile))
		throw new Error("No flash to keep yet. Run it with --gateway and without keep first.");
	if (sdk) {
		const { version = packageVersion() } = given;
		console.log(`Building firmware ${version} for QEMU. The first build takes several minutes.`);
		await buildBoard({ sdk, model, host, version, releaseKeys: builtInReleaseKeys(), outputFolder });
	}
	for (const remark of given.remarks) console.log(remark);
	if (!found) return console.log(`Image: ${join(bins, "xs_esp32.bin")}`);
	mkdirSync(folder, { recursive: true });
	writeFlash(flashFile, bins, given);
	console.log("Starting QEMU. Press Ctrl-C to stop; run it with keep to continue with the same flash.");
	const { child, stdin, stdout, board: stream } = startQemu({ qemu: found.what, folder });
	const board = new EmulatedBoard({ stream, pins: pinsOf(model), onEvent: () => {} });
	stdout.pipe(process.stdout);
	process.stdin.pipe(stdin);
	createInterface(process.stdin).on("line", (line) => {
		if (!line.startsWith("{")) return;
		try {
			applyInput(board, line);
		} catch (error) {
			console.error(error instanceof Error ? error.message : error);
		}
	});
	// The terminal sends Ctrl-C to QEMU too, which then exits.
	process.on("SIGINT", () => {});
	process.on("SIGTERM", () => child.kill("SIGTERM"));
	const code = await exitCodeOf(child);
	process.stdin.pause();
	if (code) throw new Error(`QEMU exited with ${code}.`);
}

function writeFlash(file: string, bins: string, { mode, settings }: QemuArguments): void {
	if (!settings) return;
	const partition = settingsPartition(settings);
	const flash =
		mode === "keep" ? withSettings(readFileSync(file), bins, partition) : makeFlashImage(bins, partition);
	writeFileSync(file, flash, { mode: 0o600 });
}
