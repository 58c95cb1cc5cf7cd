/** Targets of a bring-up with their expected hardware. */

import { join } from "node:path";
import type { Chip } from "../../device/protocol/messages.js";
import { type Model, models } from "../../device/protocol/models.js";
import type { BoardTuning, Proto1Tuning } from "../../hosts/esp32/pins.js";
import { boardOf, qemuBoardOf } from "../boards/build.js";
import { partitionsFile } from "../boards/flash-image.js";
import { projectFolder } from "../command-line/project.js";
import type { AllPins } from "./step.js";

export const outputFolder = join(projectFolder, ".cache", "bring-up");

/** Path relative to the project. */
export const bringUpManifest = "hosts/esp32/bring-up/manifest.json";

export interface Target {
	/** Folder under hosts/. */
	readonly host: string;
	readonly model: Model;
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

export const targets: readonly Target[] = models.flatMap((model) => {
	const common = {
		model,
		module: "ESP32-S3-WROOM-1-N16R8",
		flashMB: 16,
		psramMB: 8,
		partitionsFile,
		freePins: boardPins,
		analogPins: range(1, 10),
	};
	return [
		{ ...common, host: boardOf(model), chip: "esp32s3" },
		{ ...common, host: qemuBoardOf(model), chip: "esp32s3-qemu" },
	];
});

interface BoardFile {
	readonly pins: AllPins;
	readonly tuning: BoardTuning | Proto1Tuning;
}

/** Reads the current pins.ts, which may have changed since the last run. QEMU uses that of a board of its model. */
export async function readPins({ model }: Target): Promise<AllPins> {
	const { pins, tuning }: BoardFile = await import(`../../hosts/${boardOf(model)}/pins.js`);
	return { ...pins, ...tuning };
}
