/**
 * `npm run bench`, or `npm run bench -- relay upload` for a selection: cost of the gateway compared with a reference.
 * All traffic stays on 127.0.0.1; all processes and files are removed at the end.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { runCommand, UsageError } from "../../scripts/command-line/command.js";
import { run as cluster } from "./cluster.js";
import { run as dashboard } from "./dashboard.js";
import { roundCount } from "./harness.js";
import { runImage as image, runUpload as upload } from "./image.js";
import { run as isolation } from "./isolation.js";
import { run as relay } from "./relay.js";
import { run as restart } from "./restart.js";
import { isMet, type Row, table } from "./row.js";
import { run as sound } from "./sound.js";
import { run as update } from "./update.js";

/** To add a benchmark, create a file in this folder whose `run` returns rows, and list it here. */
const benchmarks: Readonly<Record<string, () => Promise<readonly Row[]>>> = {
	relay,
	isolation,
	image,
	upload,
	update,
	restart,
	sound,
	dashboard,
	cluster,
};

const usage = `Usage: npm run bench -- [--json FILE] [BENCHMARK…]

Runs all benchmarks, or some of ${Object.keys(benchmarks).join(", ")}, prints ratios, and writes them to FILE (.cache/bench.json).`;

const options = { json: { type: "string", default: ".cache/bench.json" } } as const;

await runCommand({ name: "bench", usage, options: Object.keys(options), run });

async function run(words: readonly string[]): Promise<void> {
	const { values, positionals } = parseArgs({ args: [...words], allowPositionals: true, options });
	const unknown = positionals.find((name) => !(name in benchmarks));
	if (unknown !== undefined) throw new UsageError(`there is no benchmark "${unknown}"`);

	const load = () =>
		loadavg()
			.map((value) => value.toFixed(1))
			.join(" ");
	const began = { time: new Date().toISOString(), load: load() };
	console.log(
		`${cpus().length} cores, load ${began.load}, Node ${process.version}, medians of ${roundCount} rounds`,
	);
	const rows: Row[] = [];
	let hasFailed = false;
	for (const [name, benchmark] of Object.entries(benchmarks)) {
		if (positionals.length > 0 && !positionals.includes(name)) continue;
		try {
			const found = await benchmark();
			rows.push(...found);
			if (found.length > 0) console.log(`\n${table(found)}`);
		} catch (error) {
			hasFailed = true;
			console.error(`\n${name} failed:`, error);
		}
	}
	const path = resolve(values.json);
	const ended = { time: new Date().toISOString(), load: load() };
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(
		path,
		`${JSON.stringify({ node: process.version, cores: cpus().length, rounds: roundCount, began, ended, rows }, null, "\t")}\n`,
	);
	const missed = rows.filter((row) => isMet(row) === false);
	const wanted = rows.filter((row) => row.target);
	console.log(
		`\n${wanted.length - missed.length} of ${wanted.length} targets met; load ${ended.load}; ${path}`,
	);
	process.exit(hasFailed ? 1 : 0);
}
