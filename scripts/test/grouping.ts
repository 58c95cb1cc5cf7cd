/**
 * Groups quick test files by folder into one process each, since small files spend most of their time starting Node and importing
 * the gateway. Node's own --test-isolation=none (22.8) runs all files in one process, and thus on one processor.
 */

import { writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { compiledPath } from "./compile.js";
import { isLong } from "./selection.js";

/**
 * @param files compiled test files, relative to the project folder
 * @param folder folder for the generated modules, which import the files of a group
 * @returns modules of the groups and of the long test files, each for one process, the largest group first
 */
export function groupTests(files: readonly string[], folder: string): string[] {
	const groups = new Map<string, string[]>();
	for (const file of files) {
		const name = isLong(file) ? file : dirname(file);
		groups.set(name, [...(groups.get(name) ?? []), file]);
	}
	const bySize = [...groups].sort(([, a], [, b]) => b.length - a.length);
	return bySize.map(([name, group]) => {
		const module = join(folder, `${name.replace(/\.ts$/, "").replaceAll(/[\\/]/g, "-")}.js`);
		const imports = ["scripts/test/process.ts", ...group].map((file) => relative(folder, compiledPath(file)));
		writeFileSync(module, imports.map((path) => `import ${JSON.stringify(path)};\n`).join(""));
		return module;
	});
}
