/** Imports between the files of gateway/, scripts/ and test/. */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** @returns files imported by each file, including type imports; paths in `project` */
export function readImports(project = "."): ReadonlyMap<string, readonly string[]> {
	const files = ["gateway", "scripts", "test"].flatMap((folder) =>
		readdirSync(join(project, folder), { recursive: true, encoding: "utf8" })
			.filter((file) => /\.tsx?$/.test(file))
			.map((file) => join(folder, file)),
	);
	const known = new Set(files);
	const importsOf = (file: string) => {
		const text = readFileSync(join(project, file), "utf8");
		return [...text.matchAll(/(?:from|import|import\() ?"(\.[^"]+)\.js"/g)].flatMap(([, path = ""]) => {
			const target = normalize(join(dirname(file), path));
			return [`${target}.ts`, `${target}.tsx`].filter((candidate) => known.has(candidate));
		});
	};
	return new Map(files.map((file) => [file, importsOf(file)]));
}

/** Whether a file imports another one, directly or not. */
export function reaches(
	imports: ReadonlyMap<string, readonly string[]>,
	file: string,
	target: string,
	seen = new Set<string>(),
): boolean {
	if (file === target) return true;
	if (seen.has(file)) return false;
	seen.add(file);
	return (imports.get(file) ?? []).some((imported) => reaches(imports, imported, target, seen));
}
