/** Targets of a bring-up with their expected hardware. */

import { join } from "node:path";
import type { Chip } from "../../device/protocol/messages.js";
import { type Model, models } from "../../device/protocol/models.js";
import type { BoardTuning, Proto1Tuning } from "../../hosts/esp32/pins.js";
import { boardOf, qemuBoard } from "../boards/build.js";
import { builtFor } from "../boards/flash-image.js";
import { projectFolder } from "../command-line/project.js";
import type { AllPins } from "./step.js";

export const outputFolder = join(projectFolder, ".cache", "bring-up");

export interface Target {
	/** Folder under hosts/. */
	readonly host: string;
	readonly model: Model;
	/** Path relative to the project. */
	readonly manifest: string;
	readonly chip: Chip;
	readonly module: string;
	readonly flashMB: number;
	readonly psramMB: number;
	readonly partitionsFile: string;
	/** GPIOs that the module does not use: candidates for miswired parts. */
	readonly freePins: readonly number[];
	/** GPIOs of ADC1. */
	readonly analogPins: readonly number[];
}

function range(first: number, last: number): readonly number[] {
	return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** GPIOs of the ESP32-S3-WROOM-1-N16R8 (data sheet, table 3) without those of strapping, USB, flash, PSRAM and console. */
const boardPins = [...range(1, 2), ...range(4, 18), 21, ...range(38, 42), 47, 48];

export const targets: readonly Target[] = [
	...models.map((model) => ({
		...builtFor(boardOf(model), outputFolder),
		host: boardOf(model),
		model,
		manifest: "hosts/esp32/bring-up/manifest.json",
		module: "ESP32-S3-WROOM-1-N16R8",
		flashMB: 16,
		psramMB: 8,
		freePins: boardPins,
		analogPins: range(1, 10),
	})),
	{
		...builtFor(qemuBoard.host, outputFolder),
		...qemuBoard,
		manifest: "hosts/esp32/bring-up/qemu.json",
		module: "QEMU's ESP32",
		flashMB: qemuBoard.flashBytes / 1024 / 1024,
		psramMB: 0,
		// GPIOs except those of flash (6 to 11), strapping and console.
		freePins: [4, ...range(13, 14), ...range(16, 19), ...range(21, 23), ...range(25, 27), ...range(32, 33)],
		analogPins: [],
	},
];

interface BoardFile {
	readonly pins: AllPins;
	readonly tuning: BoardTuning | Proto1Tuning;
}

/** Reads the current pins.ts, which may have changed since the last run. QEMU uses that of a board of its model. */
export async function readPins({ model }: Target): Promise<AllPins> {
	const { pins, tuning }: BoardFile = await import(`../../hosts/${boardOf(model)}/pins.js`);
	return { ...pins, ...tuning };
}
