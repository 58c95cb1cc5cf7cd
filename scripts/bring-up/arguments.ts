/** Parses the command line of `npm run bring-up`. */

import { modelNames } from "../command-line/device-settings.js";
import { readDeviceWords } from "../command-line/setting-words.js";
import { anyVersionFlag } from "../moddable/sdk.js";
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

export type BringUpArguments = ReturnType<typeof readArguments>;

/** @returns arguments; no steps select all @throws UsageError with all errors */
export function readArguments(words: readonly string[]) {
	return readDeviceWords(words, known, ({ values: { port }, flags }) => {
		return { isKept: flags.includes("keep"), port, steps: flags.filter((flag) => stepNames.includes(flag)) };
	});
}
