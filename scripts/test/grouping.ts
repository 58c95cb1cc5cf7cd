/**
 * Quick test files of one folder run in one process: most of the time of a small file is the start of Node and tsx, and the
 * import of the gateway. Node's own --test-isolation=none (22.8) runs all files in one process, and so on one processor.
 */

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { isLong } from "./selection.js";

/**
 * @param files test files, by their path from the project's folder
 * @param folder where modules are written that import the files of a group; emptied first
 * @returns what a process is started for: a module for each group, and each long test file; the largest group first
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
		const [first] = group;
		if (group.length === 1 && first !== undefined) return first;
		const module = join(folder, `${name.replaceAll(/[\\/]/g, "-")}.ts`);
		const imports = group.map((file) => `import ${JSON.stringify(relative(folder, file))};\n`);
		writeFileSync(module, imports.join(""));
		return module;
	});
}
