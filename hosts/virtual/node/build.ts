/**
 * Builds the executable (XS and the C files of hosts/virtual/machine) and the programs (TypeScript) that a Machine runs. The executable and
 * each module are cached under .cache by a hash of their inputs and moved into place atomically, so several processes can build at once.
 */

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { version as esbuildVersion, transform } from "esbuild";
import { findXs } from "./xs.js";

const projectFolder = fileURLToPath(new URL("../../../", import.meta.url));
const machineFolder = path.join(projectFolder, "hosts/virtual/machine");
const cacheFolder = path.join(projectFolder, ".cache/virtual");

/** Modules of each program: module name → source, relative to the project. */
const machineModules: Readonly<Record<string, string>> = {
	"virtual/channel": "hosts/virtual/modules/channel.ts",
	"mc/config": "hosts/virtual/modules/config.ts",
	timer: "hosts/virtual/modules/timer.ts",
	time: "hosts/virtual/modules/time.ts",
};

export interface Program {
	bytes: Buffer;
	/** Modification time of the newest source in seconds since 1970. */
	changedAt: number;
}

export interface ProgramOptions {
	/** Module name → TypeScript file, relative to the project. */
	modules: Readonly<Record<string, string>>;
	/** Module whose default export is called. Default: "main". */
	main?: string;
}

/**
 * @returns the path of the executable
 * @throws Error with instructions if there is no compiler, or with the compiler's output
 */
export async function buildMachine(options: { sanitize?: boolean } = {}): Promise<string> {
	const xs = findXs();
	const sources = (await readdir(machineFolder)).sort();
	const parts = await Promise.all([
		readFile(xs.versionFile),
		...sources.map((name) => readFile(path.join(machineFolder, name))),
		run("cc", ["--version"]),
	]);
	const variant = options.sanitize ? ["SANITIZE=1"] : [];
	const key = keyOf(process.platform, process.arch, xs.version, ...variant, ...parts);
	const executable = path.join(cacheFolder, `machine-${key}`);
	if (existsSync(executable)) return executable;

	const folder = `${executable}.${process.pid}`;
	await rm(folder, { recursive: true, force: true });
	await mkdir(folder, { recursive: true });
	// The path may contain characters that make cannot handle.
	await symlink(xs.folder, path.join(folder, "xs"));
	const buildFolder = path.relative(machineFolder, folder);
	const parameters = [
		`-j${availableParallelism()}`,
		`--directory=${machineFolder}`,
		`BUILD_DIR=${buildFolder}`,
		`XS_DIR=${buildFolder}/xs`,
		...variant,
	];
	await run("make", parameters, showProgress(process.stderr));
	await rename(path.join(folder, "machine"), executable);
	await rm(folder, { recursive: true });
	return executable;
}

/** Programs built by this process, by names and versions of their modules. */
const programs = new Map<string, Promise<Program>>();

/**
 * Builds a program from the given modules and `machineModules`, or returns that of an earlier call if no source has changed since.
 *
 * @throws Error of esbuild if a module has a syntax error
 */
export async function buildProgram({ modules, main = "main" }: ProgramOptions): Promise<Program> {
	const all: Record<string, string> = { ...machineModules, ...modules };
	const names = Object.keys(all).sort((a, b) => Number(b === main) - Number(a === main));
	if (names[0] !== main) throw new Error(`the program has no module "${main}"`);
	const modified = names.map((name) => {
		const source = all[name] ?? "";
		const { mtimeMs, size } = statSync(path.join(projectFolder, source));
		return { name, source, mtimeMs, size };
	});
	const key = JSON.stringify(modified);
	const known = programs.get(key);
	if (known) return known;
	const program = packModules(modified);
	programs.set(key, program);
	program.catch(() => programs.delete(key));
	return program;
}

interface ModifiedModule {
	readonly name: string;
	readonly source: string;
	readonly mtimeMs: number;
}

async function packModules(modules: readonly ModifiedModule[]): Promise<Program> {
	const built = await Promise.all(
		modules.map(async ({ name, source }) => {
			const { code, map } = await buildModule(source);
			return [name, map, resolveImports(name, code)];
		}),
	);
	const changedAt = Math.floor(Math.max(...modules.map(({ mtimeMs }) => mtimeMs)) / 1000);
	// The source comes last: an image pads it with line feeds.
	return { bytes: Buffer.from(built.flat().join("\0")), changedAt };
}

/**
 * Lists the modules of a folder by name: `device/protocol/schema.ts` in "device" is "protocol/schema".
 *
 * @param folder folder relative to the project
 */
export async function modulesOf(folder: string): Promise<Record<string, string>> {
	const files = await readdir(path.join(projectFolder, folder), { recursive: true });
	const modules: Record<string, string> = {};
	for (const file of files.map((name) => name.replaceAll(path.sep, "/")).sort()) {
		if (file.endsWith(".ts") && !file.endsWith(".d.ts")) modules[file.slice(0, -3)] = `${folder}/${file}`;
	}
	return modules;
}

interface BuiltModule {
	code: string;
	map: string;
}

/** Transpiles a single module. Modules are not bundled, because XS reads only the first source of a source map. */
async function buildModule(source: string): Promise<BuiltModule> {
	const text = await readFile(path.join(projectFolder, source), "utf8");
	const cached = path.join(cacheFolder, `module-${keyOf(esbuildVersion, source, text)}.json`);
	try {
		return JSON.parse(await readFile(cached, "utf8"));
	} catch {
		const { code, map } = await transform(text, {
			loader: "ts",
			format: "esm",
			target: "es2022",
			sourcefile: source,
			sourcemap: "external",
			sourcesContent: false,
			tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true, useDefineForClassFields: true } },
		});
		// XS crashes on an empty source map, e.g. of a module that contains only types.
		const isEmpty = JSON.parse(map).mappings === "";
		const built = { code, map: isEmpty ? "" : map };
		await writeAtomically(cached, JSON.stringify(built));
		return built;
	}
}

/** Resolves relative imports against the importer's module name, like Moddable. */
function resolveImports(importer: string, code: string): string {
	return code.replaceAll(
		/(\bfrom|\bimport) "(\.{1,2}\/[^"]+)\.js"/g,
		(_, word, relative) => `${word} "${path.posix.join(path.posix.dirname(importer), relative)}"`,
	);
}

function sha256(bytes: string | Buffer): string {
	return createHash("sha256").update(bytes).digest("hex");
}

/** Hashes each part separately, so that "ab" + "c" and "a" + "bc" have different keys. */
function keyOf(...parts: readonly (string | Buffer)[]): string {
	return sha256(parts.map(sha256).join()).slice(0, 32);
}

let temporaryFiles = 0;

async function writeAtomically(file: string, content: string | Buffer): Promise<void> {
	const temporary = `${file}.${process.pid}.${temporaryFiles++}`;
	await mkdir(path.dirname(file), { recursive: true });
	await writeFile(temporary, content);
	await rename(temporary, file);
}

/**
 * Shows the progress of compiling, which takes about 10 s, or minutes on a busy machine. Updates one line on a terminal; otherwise prints a
 * line per quarter.
 *
 * @returns function to call with the whole output of make so far
 */
function showProgress({ isTTY }: NodeJS.WriteStream): (output: string) => void {
	let shown = -1;
	const show = (done: number, total: number) => {
		const text = `compiling the XS engine (first run only): ${done} of ${total} files`;
		process.stderr.write(isTTY ? `\r${text}${done === total ? "\n" : ""}` : `${text}\n`);
	};
	return (output) => {
		const total = Number(/^files: (\d+)$/m.exec(output)?.[1] ?? 0);
		const done = output.match(/^compiled /gm)?.length ?? 0;
		const step = isTTY ? done : Math.floor((4 * done) / total);
		if (total === 0 || step === shown) return;
		// A fast compiler has finished files before the first output is read.
		if (shown < 0 && step > 0) show(0, total);
		shown = step;
		show(step === 0 ? 0 : done, total);
	};
}

/** @param onOutput called with the whole stdout so far @returns stdout @throws Error with stderr */
function run(command: string, args: readonly string[], onOutput = (_output: string) => {}): Promise<string> {
	return new Promise((resolve, reject) => {
		const child = execFile(command, args, { maxBuffer }, (error, stdout, stderr) => {
			if (!error) resolve(stdout);
			else if (error.code === "ENOENT") reject(new Error(missingCompiler));
			else reject(new Error(`${command} failed:\n${stderr || stdout || error.message}`));
		});
		let output = "";
		child.stdout?.on("data", (chunk) => {
			output += chunk;
			onOutput(output);
		});
	});
}

/** Maximum output in bytes. */
const maxBuffer = 64 << 20;
const missingCompiler =
	"Building the virtual device requires cc and make. Install them with `apt-get install build-essential` (Debian) " +
	"or `xcode-select --install` (macOS).";
