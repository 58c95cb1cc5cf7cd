/**
 * `npm run qemu`: a DEV-1 in Espressif's QEMU. The image is a real one, and so are boot loader, flash, update and roll-back;
 * there is no board. First it says everything that is missing, since a build that fails for that takes minutes.
 */

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { binFolder, buildBoard } from "./boards/build.js";
import { type BuiltFirmware, makeFlashImage, settingsPartition, withSettings } from "./boards/flash-image.js";
import { missingIdf } from "./boards/tools.js";
import { findToken, Problems, runCommand } from "./command-line/problems.js";
import { packageVersion, projectFolder } from "./command-line/project.js";
import { findModdableSdk, type ModdableSdk } from "./moddable/sdk.js";
import { type QemuArguments, readArguments, usage } from "./qemu/arguments.js";
import { findQemu, qemuArguments } from "./qemu/tools.js";

const host = "qemu";
const outputFolder = join(projectFolder, ".cache", "qemu");
const flashFile = join(outputFolder, "flash.bin");
const partitionsFile = join(projectFolder, "hosts", host, "sdkconfig", "partitions.csv");
const flashBytes = 4 * 1024 * 1024;
const built: BuiltFirmware = { chip: "esp32", folder: binFolder(outputFolder, host), partitionsFile };

await runCommand(run);

async function run(words: readonly string[]): Promise<void> {
	const { given, sdk, qemu } = prepare(words);
	if (sdk) await buildImage(given, sdk);
	for (const remark of given.remarks) console.log(remark);
	if (!qemu) return console.log(`The image is ${join(built.folder, "xs_esp32.bin")}.`);
	writeFlash(given);
	console.log("Starting QEMU. Ctrl-C ends it; its flash stays for the next run with keep.");
	// QEMU would take the terminal for the serial port, Ctrl-C and all.
	const child = spawn(qemu, qemuArguments(flashFile), { stdio: ["ignore", "inherit", "inherit"] });
	// The terminal sends it to QEMU as well, which ends by it.
	process.on("SIGINT", () => {});
	process.on("SIGTERM", () => child.kill("SIGTERM"));
	const code = await new Promise<number | null>((resolve, reject) => {
		child.on("error", reject);
		child.on("close", resolve);
	});
	if (code) throw new Error(`QEMU ended with ${code}.`);
}

interface Prepared {
	readonly given: QemuArguments;
	/** Undefined: nothing is to be built. */
	readonly sdk: ModdableSdk | undefined;
	/** Undefined: nothing is to be started. */
	readonly qemu: string | undefined;
}

/** @throws Error that says everything that is missing */
function prepare(words: readonly string[]): Prepared {
	const problems = new Problems();
	const given = problems.attempt(() => readArguments({ words, findToken }));
	const isKept = given?.mode === "keep";
	const sdk = isKept ? undefined : problems.attempt(() => findModdableSdk());
	if (!isKept) problems.add(missingIdf(process.env));
	else if (!existsSync(flashFile)) problems.add("There is no flash to keep yet: say --gateway without keep.");
	const qemu = given?.mode === "build" ? undefined : problems.attempt(() => findQemu(process.env));
	if (problems.sentences.length > 0 || !given) throw problems.asError(usage);
	return { given, sdk, qemu };
}

async function buildImage({ version = packageVersion() }: QemuArguments, sdk: ModdableSdk): Promise<void> {
	console.log(`Building the firmware ${version} for QEMU; the first time takes several minutes.`);
	const onOutput = (text: string) => process.stdout.write(text);
	await buildBoard({ sdk, model: "DEV-1", host, version, outputFolder, onOutput });
}

/** Nothing to write where the flash is kept with the settings in it. */
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
