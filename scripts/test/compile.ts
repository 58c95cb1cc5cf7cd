/**
 * Compiles the TypeScript of a project to JavaScript once, instead of in each test process. Outputs mirror the folders of their
 * sources, and are compiled again only after a change, also of the project's folder, whose path they contain.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";

/** Folder of the outputs, in the project's folder. */
const compiledFolder = join(".cache", "js");
const folders = ["device", "gateway", "hosts", "scripts", "test"] as const;

/** @param source path relative to the project, such as `test/x.test.ts` @returns path of its output, likewise */
export function compiledPath(source: string): string {
	return join(compiledFolder, source.replace(/\.tsx?$/, ".js"));
}

/** @param root folder of the project @throws {Error} with file and line if a source has a syntax error */
export async function compile(root: string): Promise<void> {
	const sources = folders.flatMap((folder) => list(root, folder, /(?<!\.d)\.tsx?$/));
	const mark = join(root, compiledFolder, "root");
	if (!existsSync(mark) || readFileSync(mark, "utf8") !== root) {
		rmSync(join(root, compiledFolder), { recursive: true, force: true });
		mkdirSync(join(root, compiledFolder), { recursive: true });
		// Before the outputs, so that a run beside this one keeps them.
		writeFileSync(mark, root);
	}
	const outputs = new Set(sources.map(compiledPath));
	for (const output of list(root, compiledFolder, /\.js$/))
		if (!outputs.has(output)) rmSync(join(root, output));
	const configuration = join(root, "tsconfig.json");
	const rulesAt = Math.max(modifiedAt(configuration), modifiedAt(fileURLToPath(import.meta.url)));
	const stale = sources.filter((source) => {
		const compiledAt = modifiedAt(join(root, compiledPath(source)));
		return compiledAt <= Math.max(rulesAt, modifiedAt(join(root, source)));
	});
	if (stale.length === 0) return;
	await build({
		absWorkingDir: root,
		entryPoints: stale,
		outbase: root,
		outdir: join(root, compiledFolder),
		format: "esm",
		platform: "node",
		target: "node20.10",
		jsx: "automatic",
		jsxImportSource: "preact",
		sourcemap: "inline",
		sourcesContent: false,
		logLevel: "silent",
		plugins: [relocation(root, aliases(configuration))],
	});
}

/** Keeps references valid in the output's folder: `import.meta.url`, JSON modules, and "paths" of tsconfig.json. */
function relocation(root: string, targets: ReadonlyMap<string, string>): Plugin {
	return {
		name: "relocation",
		setup({ onLoad }) {
			onLoad({ filter: /\.tsx?$/ }, ({ path }) => {
				const url = (file: string) => JSON.stringify(pathToFileURL(file).href);
				const contents = readFileSync(path, "utf8")
					.replaceAll(/\bimport\.meta\.url\b/g, url(path))
					.replaceAll(
						/^(import .* from )"(\.[^"]*\.json)"/gm,
						(_, word: string, file: string) => word + url(resolve(dirname(path), file)),
					)
					.replaceAll(
						/^((?:import|export|\}).* from |import )"([\w:/-]+)"/gm,
						(text, word: string, name: string) => {
							const target = targets.get(name);
							return target === undefined ? text : word + url(join(root, compiledPath(join(target))));
						},
					);
				return { contents, loader: path.endsWith("x") ? "tsx" : "ts" };
			});
		},
	};
}

/** Parts of tsconfig.json. */
interface Configuration {
	readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly [string]>> };
}

/** @returns source files by module name */
function aliases(configuration: string): ReadonlyMap<string, string> {
	if (!existsSync(configuration)) return new Map();
	const { compilerOptions }: Configuration = JSON.parse(readFileSync(configuration, "utf8"));
	return new Map(Object.entries(compilerOptions.paths).map(([name, [target]]) => [name, target]));
}

function list(root: string, folder: string, pattern: RegExp): string[] {
	if (!existsSync(join(root, folder))) return [];
	return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
		.filter((file) => pattern.test(file))
		.map((file) => join(folder, file));
}

/** @returns ms since 1970; 0: absent */
function modifiedAt(file: string): number {
	return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
