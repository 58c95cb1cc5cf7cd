/** Targets of a bring-up with their expected hardware. */

import { join } from "node:path";
import type { Chip } from "../../device/protocol/messages.js";
import { type Model, models } from "../../device/protocol/models.js";
import type { BoardTuning, Proto1Tuning } from "../../hosts/esp32/pins.js";
import { boardOf, qemuBoardOf } from "../boards/build.js";
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
}

function range(first: number, last: number): readonly number[] {
	return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Module of all boards. */
export const boardModule = {
	name: "ESP32-S3-WROOM-1-N16R8",
	flashMB: 16,
	psramMB: 8,
	/** Candidates for miswired parts: GPIOs (data sheet, table 3) without those of strapping, USB, flash, PSRAM and console. */
	freePins: [...range(1, 2), ...range(4, 18), 21, ...range(38, 42), 47, 48],
	/** GPIOs of ADC1. */
	analogPins: range(1, 10),
} as const;

export const targets: readonly Target[] = models.flatMap((model) => [
	{ model, host: boardOf(model), chip: "esp32s3" },
	{ model, host: qemuBoardOf(model), chip: "esp32s3-qemu" },
]);

interface BoardFile {
	readonly pins: AllPins;
	readonly tuning: BoardTuning | Proto1Tuning;
}

/** Reads the current pins.ts, which may have changed since the last run. QEMU uses that of a board of its model. */
export async function readPins({ model }: Target): Promise<AllPins> {
	const { pins, tuning }: BoardFile = await import(`../../hosts/${boardOf(model)}/pins.js`);
	return { ...pins, ...tuning };
}
