/** Parses the command line of `npm run bring-up`. */

import type { Model } from "../../device/protocol/models.js";
import { UsageError } from "../command-line/command.js";
import { modelNames } from "../command-line/device-settings.js";
import { Problems } from "../command-line/problems.js";
import { parseDeviceWords } from "../command-line/setting-words.js";
import { anyVersionFlag, type FindOptions } from "../moddable/sdk.js";
import { steps } from "./run.js";

const stepNames = steps.map(({ name }) => name);

export const usage = `Usage: npm run bring-up -- ${modelNames.join("|")} [keep] [port=…] [step …]

Replaces the firmware of a board by a test program over USB, and tests each part interactively: it reports faulty parts, and the
required changes of hosts/<board>/pins.ts. The settings of the board are kept.

  keep                use the test program on the board without building and flashing it again
  port=/dev/ttyACM0   serial port, if more than one board is connected
  --any-version       allow other versions of the Moddable SDK and ESP-IDF than npm run doctor requires
  step …              only these steps: ${stepNames.join(", ")}`;

export const known = { names: ["port"], flags: ["keep", anyVersionFlag, ...stepNames] } as const;

export interface BringUpArguments extends FindOptions {
	readonly model: Model;
	readonly isKept: boolean;
	/** Serial port; undefined to detect it. */
	readonly port: string | undefined;
	/** Names of the steps; empty for all. */
	readonly steps: readonly string[];
}

/** @throws UsageError with all errors */
export function readArguments(words: readonly string[]): BringUpArguments {
	const problems = new Problems();
	const { model, values, flags, isAnyVersion } = parseDeviceWords(words, known, problems);
	if (problems.areFound || !model) throw problems.asError(UsageError);
	const steps = flags.filter((flag) => stepNames.includes(flag));
	return { model, isKept: flags.includes("keep"), isAnyVersion, port: values.port, steps };
}
