/** Loads modules of the hosts that import the SDK's. */

import { join } from "node:path";
import { build } from "esbuild";
import { isRecord } from "../../device/protocol/schema.js";
import { projectFolder } from "../../scripts/command-line/project.js";

/**
 * @param file under hosts/
 * @param fakes replacements of modules by name, e.g. `{ timer }`: default exports, whose properties are also named exports
 * @param traced receives the trace output
 * @returns its exports
 */
export async function load(
	file: string,
	fakes: Readonly<Record<string, unknown>>,
	traced: string[] = [],
): Promise<Readonly<Record<string, unknown>>> {
	const hosts = join(projectFolder, "hosts");
	const bundle = await build({
		entryPoints: [join(hosts, file)],
		bundle: true,
		format: "iife",
		globalName: "loaded",
		write: false,
		target: "es2022",
		tsconfig: join(hosts, "tsconfig.json"),
		plugins: [
			{
				name: "fakes",
				setup({ onResolve, onLoad }) {
					onResolve({ filter: /./ }, ({ path }) =>
						Object.hasOwn(fakes, path) ? { path, namespace: "fakes" } : undefined,
					);
					onLoad({ filter: /./, namespace: "fakes" }, ({ path }) => ({
						contents: `module.exports = fakes[${JSON.stringify(path)}];`,
					}));
				},
			},
		],
	});
	const run = new Function("fakes", "trace", `${bundle.outputFiles[0]?.text}\nreturn loaded;`);
	const exports: unknown = run(fakes, (text: string) => traced.push(text));
	if (!isRecord(exports)) throw new Error(`${file} exports nothing`);
	return exports;
}

type Loaded = new (
	...options: readonly object[]
) => Record<string, (...values: readonly unknown[]) => unknown>;
const isClass = (value: unknown): value is Loaded => typeof value === "function";

/** Loads a class. @param name of the export */
export async function loadClass(name: string, ...parameters: Parameters<typeof load>): Promise<Loaded> {
	const { [name]: loaded } = await load(...parameters);
	if (!isClass(loaded)) throw new Error(`${parameters[0]} exports no class ${name}`);
	return loaded;
}
