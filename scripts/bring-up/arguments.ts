/** Parses the command line of `npm run bring-up`. */

import { UsageError } from "../command-line/command.js";
import { Problems } from "../command-line/problems.js";
import { parseSettingWords } from "../command-line/setting-words.js";
import { anyVersionFlag, type FindOptions } from "../moddable/sdk.js";
import { steps } from "./run.js";
import { type Target, targets } from "./targets.js";

const hosts = targets.map(({ host }) => host);

export const usage = `Usage: npm run bring-up -- ${hosts.join("|")} [keep] [port=…] [step …]

Replaces the firmware of a board by a test program over USB, and tests each part interactively: it reports faulty parts, and the
required changes of hosts/<board>/pins.ts. The settings of the board are kept. In QEMU, codec,
clocks and buttons are not connected to these pins, so their steps fail.

  keep                use the test program on the board without building and flashing it again
  port=/dev/ttyACM0   serial port, if more than one board is connected
  --any-version       allow other versions of the Moddable SDK and ESP-IDF than npm run doctor requires
  step …              only these steps: ${steps.map(({ name }) => name).join(", ")}`;

export const known = {
	names: ["port"],
	flags: ["keep", anyVersionFlag, ...steps.map(({ name }) => name)],
} as const;

export interface BringUpArguments extends FindOptions {
	readonly target: Target;
	readonly isKept: boolean;
	/** Serial port; undefined to detect it. */
	readonly port: string | undefined;
	/** Names of the steps; empty for all. */
	readonly steps: readonly string[];
}

/** @throws UsageError with all errors */
export function readArguments([first, ...others]: readonly string[]): BringUpArguments {
	const problems = new Problems();
	const target = targets.find(({ host }) => host === first?.toLowerCase());
	if (!target)
		problems.add(`Specify the board first: ${hosts.join(" or ")}${first ? `, not ${first}` : ""}.`);
	const { values, isAnyVersion, ...set } = parseSettingWords(others, known, problems);
	if (problems.areFound || !target) throw problems.asError(UsageError);
	return {
		target,
		isKept: set.flags.includes("keep"),
		isAnyVersion,
		port: values.port,
		steps: set.flags.filter((flag) => steps.some(({ name }) => name === flag)),
	};
}
