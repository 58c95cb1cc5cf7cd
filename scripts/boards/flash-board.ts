import type { DeviceSettings } from "../command-line/device-settings.js";
/**
 * Builds the firmware, the same image as a release, and writes it to a board by USB. The settings have a partition of their
 * own, so neither the build nor esptool's command line contains them.
 */

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Model } from "../../device/protocol/schema.js";
import type { ModdableSdk } from "../moddable/sdk.js";
import { binFolder, boardOf, buildBoard } from "./build.js";
import { writeToBoard } from "./esptool.js";
import {
	boardChip as chip,
	type FlashFile,
	firmwareFiles,
	partitionsFile,
	settingsPartition,
} from "./flash-image.js";

export interface BoardFlashOptions {
	readonly sdk: ModdableSdk;
	readonly model: Model;
	/** Relative to the project; default: the firmware's. */
	readonly manifest?: string;
	readonly version: string;
	/** Of `formatReleaseKeys`. */
	readonly releaseKeys: string;
	/** Undefined: the board keeps its own. */
	readonly settings: DeviceSettings | undefined;
	/** Serial port. */
	readonly port: string;
	readonly outputFolder: string;
	readonly onOutput: (text: string) => void;
	/** Called before the board is written. */
	readonly onBuilt: () => void;
}

/** @throws Error where a setting is too long, the build fails, or the board is not fully written */
export async function flashBoard(options: BoardFlashOptions): Promise<void> {
	const { sdk, model, manifest, version, releaseKeys, settings, port, outputFolder, onOutput, onBuilt } =
		options;
	const partition = settings && settingsPartition(partitionsFile, settings);
	await buildBoard({ sdk, model, manifest, version, releaseKeys, outputFolder, onOutput });
	onBuilt();
	const folder = binFolder(outputFolder, boardOf(model));
	const files: FlashFile[] = [...firmwareFiles({ chip, folder, partitionsFile })];
	const settingsFile = join(outputFolder, "settings.bin");
	// After Ctrl-C esptool ends, and the settings file is still removed.
	const ignore = () => {};
	process.on("SIGINT", ignore);
	try {
		if (partition) {
			writeSecretFile(settingsFile, partition.bytes);
			files.push({ file: settingsFile, offset: partition.offset });
		}
		await writeToBoard({ chip, port, files, environment: sdk.environment });
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
