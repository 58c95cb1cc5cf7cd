/** `npm run qemu`: runs a board in Espressif's QEMU with a real image, boot loader, flash, update and rollback. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildBoard, qemuBoard } from "./boards/build.js";
import { builtFor, makeFlashImage, settingsPartition, withSettings } from "./boards/flash-image.js";
import { needBoardTools } from "./boards/tools.js";
import { exitCodeOf } from "./command-line/child.js";
import { runCommand } from "./command-line/command.js";
import { thisMachine } from "./command-line/machine.js";
import { Problems } from "./command-line/problems.js";
import { packageVersion, projectFolder } from "./command-line/project.js";
import { builtInReleaseKeys } from "./command-line/release-keys.js";
import { options, type QemuArguments, readArguments, usage } from "./qemu/arguments.js";
import { findQemu, startQemu } from "./qemu/tools.js";

const { model, host } = qemuBoard;
const outputFolder = join(projectFolder, ".cache", "qemu");
const flashFile = join(outputFolder, "flash.bin");
const built = builtFor(host, outputFolder);

await runCommand({ name: "qemu", usage, options, run });

async function run(words: readonly string[]): Promise<void> {
	const problems = new Problems();
	const given = readArguments(words, problems);
	const isKept = given.mode === "keep";
	const sdk = isKept ? undefined : needBoardTools(problems, given);
	if (isKept && !existsSync(flashFile))
		problems.add("No flash to keep yet. Run it with --gateway and without keep first.");
	const found = given.mode === "build" ? undefined : problems.need(findQemu(thisMachine()));
	if (problems.areFound) throw problems.asError();
	if (sdk) {
		const { version = packageVersion() } = given;
		console.log(`Building firmware ${version} for QEMU. The first build takes several minutes.`);
		await buildBoard({ sdk, model, host, version, releaseKeys: builtInReleaseKeys(), outputFolder });
	}
	for (const remark of given.remarks) console.log(remark);
	if (!found) return console.log(`Image: ${join(built.folder, "xs_esp32.bin")}`);
	writeFlash(given);
	console.log("Starting QEMU. Press Ctrl-C to stop; run it with keep to continue with the same flash.");
	const child = startQemu(found.what, flashFile);
	child.stdout.pipe(process.stdout);
	process.stdin.pipe(child.stdin);
	// The terminal sends Ctrl-C to QEMU too, which then exits.
	process.on("SIGINT", () => {});
	process.on("SIGTERM", () => child.kill("SIGTERM"));
	const code = await exitCodeOf(child);
	process.stdin.pause();
	if (code) throw new Error(`QEMU exited with ${code}.`);
}

function writeFlash({ mode, settings }: QemuArguments): void {
	if (!settings) return;
	const partition = settingsPartition(built.partitionsFile, settings);
	const flash =
		mode === "keep"
			? withSettings(readFileSync(flashFile), built, partition)
			: makeFlashImage(built, partition, qemuBoard.flashBytes);
	mkdirSync(outputFolder, { recursive: true });
	writeFileSync(flashFile, flash, { mode: 0o600 });
}
