/**
 * `npm run torment -- --seed 7 --minutes 3`: injects faults into one gateway and 50 devices and checks all invariants
 * throughout. The same seed produces the same faults in the same steps; their timing depends on the computer.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { printableLines } from "../../gateway/telemetry/printable.js";
import { runCommand, UsageError } from "../../scripts/command-line/command.js";
import { BrokenInvariant, Journal } from "./journal.js";
import { torment } from "./torment.js";

const usage = `Usage: npm run torment -- [--seed N] [--minutes M]

N: a whole number, by default drawn; M: 0.5 to 600, by default 3.`;

const options = {
	seed: { type: "string" },
	minutes: { type: "string" },
} as const;

await runCommand({ name: "torment", usage, options: Object.keys(options), run });

async function run(words: readonly string[]): Promise<void> {
	const { seed, minutes } = readArguments(words);
	const again = `npm run torment -- --seed ${seed} --minutes ${minutes}`;
	console.log(`Seed ${seed}; again with: ${again}`);
	const folder = await mkdtemp(join(tmpdir(), "torment-"));
	const journal = new Journal(join(folder, "journal.log"));
	try {
		await torment({ seed, minutes, folder, journal });
		console.log(`Every invariant held for ${minutes} minutes. ${journal.summary}`);
		await rm(folder, { recursive: true });
		process.exit(process.exitCode ?? 0);
	} catch (error) {
		console.error(printableLines(`Last steps:\n${journal.lastLines}\n`));
		if (error instanceof BrokenInvariant) console.error(printableLines(`BROKEN INVARIANT: ${error.message}`));
		else console.error(error);
		console.error(
			`Seed ${seed}; again with: ${again}\nKept: ${folder} (journal.log, gateway.log, data, releases)`,
		);
		process.exit(1);
	}
}

/** @throws UsageError */
function readArguments(words: readonly string[]) {
	const { values } = parseArgs({ args: [...words], options });
	const number = (name: keyof typeof options, byDefault: number, least: number, most: number) => {
		const value = Number(values[name] ?? byDefault);
		if (!(value >= least && value <= most)) throw new UsageError(`--${name} must be ${least} to ${most}`);
		return value;
	};
	return {
		seed: Math.floor(number("seed", Date.now() % 1_000_000, 0, 0xffff_ffff)),
		minutes: number("minutes", 3, 0.5, 600),
	};
}
