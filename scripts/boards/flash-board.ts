/**
 * Builds the firmware, the same image as a release, and writes it to a board by USB. The settings have a partition of their
 * own, so neither the build nor esptool's command line contains them.
 */

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DeviceSettings } from "../command-line/device-settings.js";
import { type BoardBuildOptions, boardOf, buildBoard } from "./build.js";
import { writeToBoard } from "./esptool.js";
import { builtFor, type FlashFile, firmwareFiles, settingsPartition } from "./flash-image.js";

export interface BoardFlashOptions extends Omit<BoardBuildOptions, "host"> {
	/** Undefined: the board keeps its own. */
	readonly settings: DeviceSettings | undefined;
	/** Serial port. */
	readonly port: string;
	/** Called before the board is written. */
	readonly onBuilt: () => void;
}

/** @throws Error where a setting is too long, the build fails, or the board is not fully written */
export async function flashBoard(options: BoardFlashOptions): Promise<void> {
	const { sdk, model, settings, port, outputFolder, onBuilt } = options;
	const built = builtFor(boardOf(model), outputFolder);
	const partition = settings && settingsPartition(built.partitionsFile, settings);
	await buildBoard(options);
	onBuilt();
	const files: FlashFile[] = [...firmwareFiles(built)];
	const settingsFile = join(outputFolder, "settings.bin");
	// After Ctrl-C esptool ends, and the settings file is still removed.
	const ignore = () => {};
	process.on("SIGINT", ignore);
	try {
		if (partition) {
			writeSecretFile(settingsFile, partition.bytes);
			files.push({ file: settingsFile, offset: partition.offset });
		}
		await writeToBoard({ chip: built.chip, port, files, environment: sdk.environment });
	} finally {
		rmSync(settingsFile, { force: true });
		process.off("SIGINT", ignore);
	}
}

function writeSecretFile(file: string, bytes: Uint8Array): void {
	mkdirSync(join(file, ".."), { recursive: true });
	// An existing file would keep its mode.
	rmSync(file, { force: true });
	writeFileSync(file, bytes, { mode: 0o600, flag: "wx" });
}
