/**
 * `npm run bench`, or `npm run bench -- relay image` for a selection: cost of the gateway compared with a reference.
 * All traffic stays on 127.0.0.1; all processes and files are removed at the end.
 */

import { cpus, loadavg } from "node:os";
import { type Arguments, runCommand, UsageError } from "../../scripts/command-line/command.js";
import { type Owner, withCleanup } from "../support/cleanup.js";
import { run as cluster } from "./cluster.js";
import { run as dashboard } from "./dashboard.js";
import { isMet, type Row, roundCount } from "./harness.js";
import { run as image } from "./image.js";
import { run as relay } from "./relay.js";
import { run as restart } from "./restart.js";
import { run as sound } from "./sound.js";

/** To add a benchmark, create a file in this folder whose `run` returns rows, and list it here. */
const benchmarks: Readonly<Record<string, (t: Owner) => Promise<readonly Row[]>>> = {
	relay,
	image,
	restart,
	sound,
	dashboard,
	cluster,
};

const usage = `Usage: npm run bench -- [BENCHMARK…]

Runs all benchmarks, or some of ${Object.keys(benchmarks).join(", ")}, and prints ratios.`;

await runCommand({ name: "bench", usage, options: {}, allowPositionals: true, run });

async function run({ positionals: words }: Arguments): Promise<void> {
	const unknown = words.find((name) => !(name in benchmarks));
	if (unknown !== undefined) throw new UsageError(`there is no benchmark "${unknown}"`);

	const load = () =>
		`load ${loadavg()
			.map((value) => value.toFixed(1))
			.join(" ")}`;
	console.log(`${cpus().length} cores, ${load()}, Node ${process.version}, medians of ${roundCount} rounds`);
	const rows: Row[] = [];
	let hasFailed = false;
	for (const [benchmark, measure] of Object.entries(benchmarks)) {
		if (words.length > 0 && !words.includes(benchmark)) continue;
		try {
			const found = await withCleanup(measure);
			rows.push(...found);
			console.log(`\n${benchmark}`);
			for (const row of found) console.log(lineOf(row));
		} catch (error) {
			hasFailed = true;
			console.error(`\n${benchmark} failed:`, error);
		}
	}
	const verdicts = rows.map(isMet).filter((met) => met !== undefined);
	const met = verdicts.filter(Boolean).length;
	console.log(`\n${met} of ${verdicts.length} targets met; ${load()}`);
	process.exit(hasFailed ? 1 : 0);
}

function lineOf(row: Row): string {
	const { what, unit, ours, reference, ratio, max, maxRatio } = row;
	const met = isMet(row);
	const parts = [
		`${figure(ours)} ${unit}`,
		reference === undefined || ratio === undefined ? "" : `${figure(reference)}, ${ratio.toFixed(2)} ×`,
		met === undefined ? "" : `≤ ${maxRatio === undefined ? max : `${maxRatio} ×`} ${met ? "met" : "MISSED"}`,
	];
	return `${what.padEnd(90)}${parts.map((text) => text.padEnd(20)).join("")}`.trimEnd();
}

/** Formats with three significant digits. */
function figure(value: number): string {
	return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}
