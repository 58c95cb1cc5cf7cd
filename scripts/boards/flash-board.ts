/**
 * Builds the firmware, the same image as a release, and writes it to a board over USB with esptool, a Python module of ESP-IDF. The
 * settings have their own partition, so neither the build nor the command line of esptool contains them.
 */

import { spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exitCodeOf } from "../command-line/child.js";
import type { DeviceSettings } from "../command-line/device-settings.js";
import { type BoardBuildOptions, binFolder, boardOf, buildBoard } from "./build.js";
import { type FlashFile, firmwareFiles, settingsPartition } from "./flash-image.js";

/** UPLOAD_SPEED of the SDK; ignored by the native USB port. */
const bitsPerSecond = 921_600;

export interface BoardFlashOptions extends Omit<BoardBuildOptions, "host"> {
	/** Undefined keeps the settings on the board. */
	readonly settings: DeviceSettings | undefined;
	/** Serial port. */
	readonly port: string;
	/** Called before the board is flashed. */
	readonly onBuilt: () => void;
}

/** @throws Error if a setting is too long, the build fails, or flashing fails */
export async function flashBoard(options: BoardFlashOptions): Promise<void> {
	const { sdk, model, settings, port, outputFolder, onBuilt } = options;
	const partition = settings && settingsPartition(settings);
	await buildBoard(options);
	onBuilt();
	const files: FlashFile[] = [...firmwareFiles(binFolder(outputFolder, boardOf(model)))];
	const settingsFile = join(outputFolder, "settings.bin");
	// Ctrl-C ends esptool; the settings file is still removed.
	const ignore = () => {};
	process.on("SIGINT", ignore);
	try {
		if (partition) {
			writeSecretFile(settingsFile, partition.bytes);
			files.push({ file: settingsFile, offset: partition.offset });
		}
		const child = spawn("python", esptoolWords(port, files), {
			env: sdk.environment,
			stdio: ["ignore", "inherit", "inherit"],
		});
		const code = await exitCodeOf(child);
		if (code !== 0)
			throw new Error(`esptool exited with ${code}. Flashing is incomplete: flash the board again.`);
	} finally {
		rmSync(settingsFile, { force: true });
		process.off("SIGINT", ignore);
	}
}

/** Arguments as in components/esptool_py/project_include.cmake of ESP-IDF; flash mode and size are those in the files. */
function esptoolWords(port: string, files: readonly FlashFile[]): readonly string[] {
	const pairs = files.flatMap(({ file, offset }) => [`0x${offset.toString(16)}`, file]);
	const options = ["--chip", "esp32s3", "--port", port, "--baud", String(bitsPerSecond)];
	return ["-m", "esptool", ...options, "write-flash", ...pairs];
}

function writeSecretFile(file: string, bytes: Uint8Array): void {
	mkdirSync(join(file, ".."), { recursive: true });
	// An existing file would keep its mode.
	rmSync(file, { force: true });
	writeFileSync(file, bytes, { mode: 0o600, flag: "wx" });
}
