/** `npm run qemu`: runs a board in Espressif's QEMU, with a real image, boot loader, flash, update and roll-back. */

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { binFolder, buildBoard, qemuBoard } from "./boards/build.js";
import { type BuiltFirmware, makeFlashImage, settingsPartition, withSettings } from "./boards/flash-image.js";
import { missingIdf } from "./boards/tools.js";
import { exitCodeOf } from "./command-line/child.js";
import { runCommand } from "./command-line/command.js";
import { findToken } from "./command-line/device-settings.js";
import { thisMachine } from "./command-line/machine.js";
import { Problems } from "./command-line/problems.js";
import { packageVersion, projectFolder } from "./command-line/project.js";
import { builtInReleaseKeys } from "./command-line/release-keys.js";
import { findModdableSdk, type ModdableSdk } from "./moddable/sdk.js";
import { options, type QemuArguments, readArguments, toolsIn, usage } from "./qemu/arguments.js";
import { findQemu, qemuArguments } from "./qemu/tools.js";

const { model, host } = qemuBoard;
const outputFolder = join(projectFolder, ".cache", "qemu");
const flashFile = join(outputFolder, "flash.bin");
const partitionsFile = join(projectFolder, "hosts", host, "sdkconfig", "partitions.csv");
const flashBytes = 4 * 1024 * 1024;
const built: BuiltFirmware = { chip: "esp32", folder: binFolder(outputFolder, host), partitionsFile };

await runCommand({ name: "qemu", usage, options, run });

async function run(words: readonly string[]): Promise<void> {
	const { given, sdk, qemu } = prepare(words);
	if (sdk) await buildImage(given, sdk);
	for (const remark of given.remarks) console.log(remark);
	if (!qemu) return console.log(`The image is ${join(built.folder, "xs_esp32.bin")}.`);
	writeFlash(given);
	console.log("Starting QEMU. Ctrl-C ends it; the next run with keep continues with its flash.");
	// With the terminal as standard input, QEMU would send Ctrl-C to the serial port.
	const child = spawn(qemu, qemuArguments(flashFile), { stdio: ["pipe", "inherit", "inherit"] });
	// The device may restart, or QEMU end, while a line is on its way.
	child.stdin.on("error", () => {});
	process.stdin.pipe(child.stdin);
	// The terminal sends Ctrl-C to QEMU as well, which then ends.
	process.on("SIGINT", () => {});
	process.on("SIGTERM", () => child.kill("SIGTERM"));
	const code = await exitCodeOf(child);
	process.stdin.pause();
	if (code) throw new Error(`QEMU ended with ${code}.`);
}

interface Prepared {
	readonly given: QemuArguments;
	/** Undefined: nothing is built. */
	readonly sdk: ModdableSdk | undefined;
	/** Undefined: nothing is started. */
	readonly qemu: string | undefined;
}

/** @throws Error that names everything that is missing */
function prepare(words: readonly string[]): Prepared {
	const problems = new Problems();
	const given = problems.attempt(() => readArguments({ words, findToken }));
	const isKept = given?.mode === "keep";
	const tools = toolsIn(words);
	const sdk = isKept ? undefined : problems.attempt(() => findModdableSdk(tools));
	if (!isKept) problems.add(missingIdf(thisMachine(), tools));
	else if (!existsSync(flashFile))
		problems.add("There is no flash to keep yet: run it with --gateway, and without keep.");
	const qemu = given?.mode === "build" ? undefined : problems.attempt(() => findQemu(process.env));
	if (problems.areFound || !given) throw problems.asError();
	return { given, sdk, qemu };
}

async function buildImage({ version = packageVersion() }: QemuArguments, sdk: ModdableSdk): Promise<void> {
	console.log(`Building the firmware ${version} for QEMU; the first time takes several minutes.`);
	const onOutput = (text: string) => process.stdout.write(text);
	await buildBoard({
		sdk,
		model,
		host,
		version,
		releaseKeys: builtInReleaseKeys(),
		outputFolder,
		onOutput,
	});
}

function writeFlash({ mode, settings }: QemuArguments): void {
	if (!settings) return;
	const partition = settingsPartition(partitionsFile, settings);
	const flash =
		mode === "keep"
			? withSettings(readFileSync(flashFile), built, partition)
			: makeFlashImage(built, partition, flashBytes);
	mkdirSync(outputFolder, { recursive: true });
	writeFileSync(flashFile, flash, { mode: 0o600 });
}
