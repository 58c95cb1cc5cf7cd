/**
 * Quick test files of one folder run in one process: most of the time of a small file is the start of Node and tsx, and the
 * import of the gateway. Node's own --test-isolation=none (22.8) runs all files in one process, and so on one processor.
 */

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { isLong } from "./selection.js";

/** Longest time of one test. The engine, which takes minutes to compile, is there already. */
const quickLimitMs = Number(process.env.TEST_LIMIT_MS || (process.argv.includes("--all") ? 10 : 2) * 60_000);
/** The simulator's compile it, and the firmware. */
const longLimitMs = 20 * 60_000;

/**
 * @param files test files, by their path from the project's folder
 * @param folder where modules are written that import the files of a group; emptied first
 * @returns the module of each group and of each long test file, for each of which a process is started; the largest group first
 */
export function groupTests(files: readonly string[], folder: string): string[] {
	const groups = new Map<string, string[]>();
	for (const file of files) {
		const name = isLong(file) ? file : dirname(file);
		groups.set(name, [...(groups.get(name) ?? []), file]);
	}
	rmSync(folder, { recursive: true, force: true });
	mkdirSync(folder, { recursive: true });
	const bySize = [...groups].sort(([, a], [, b]) => b.length - a.length);
	return bySize.map(([name, group]) => {
		const module = join(folder, `${name.replace(/\.ts$/, "").replaceAll(/[\\/]/g, "-")}.ts`);
		const limit = new URL(`limit.ts?ms=${isLong(name) ? longLimitMs : quickLimitMs}`, import.meta.url);
		const imports = [limit.href, ...group.map((file) => relative(folder, file))];
		writeFileSync(module, imports.map((each) => `import ${JSON.stringify(each)};\n`).join(""));
		return module;
	});
}
