/** Parses the command line of `npm run bring-up`. */

import { Problems } from "../command-line/problems.js";
import { parseSettingWords } from "../command-line/setting-words.js";
import { anyVersionFlag, type FindOptions } from "../moddable/sdk.js";
import { steps } from "./run.js";
import { type Target, targets } from "./targets.js";

const hosts = targets.map(({ host }) => host);

export const usage = `Usage: npm run bring-up -- ${hosts.join("|")} [keep] [port=…] [step …]

Writes a small program to a board by USB, in place of its firmware, and asks you at the terminal what you see, hear and press: it
names each part that does not work, and what to change in hosts/<board>/pins.ts. The board's settings stay. In QEMU, which has no
parts, the steps for them fail.

  keep                the program is on the board already: it is neither built nor written again
  port=/dev/ttyACM0   the board's serial port, where more than one is connected
  --any-version       also with another Moddable SDK or ESP-IDF than npm run doctor asks for
  step …              only these steps: ${steps.map(({ name }) => name).join(", ")}`;

const names = ["port"] as const;
const flags: readonly string[] = ["keep", anyVersionFlag, ...steps.map(({ name }) => name)];

export const options: readonly string[] = [...names, "keep", anyVersionFlag];

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
	if (!target) problems.add(`The board comes first, ${hosts.join(" or ")}${first ? `, not ${first}` : ""}.`);
	const { values, flags: given } = parseSettingWords({ words: others, names, flags, position: 2 }, problems);
	problems.endOfUsage();
	if (problems.areFound || !target) throw problems.asError();
	return {
		target,
		isKept: given.includes("keep"),
		isAnyVersion: given.includes(anyVersionFlag),
		port: values.port || undefined,
		steps: given.filter((flag) => steps.some(({ name }) => name === flag)),
	};
}
