/**
 * `node --import tsx test/gateway/deletion.ts [extension …]`: removes each extension from a copy of this project, as gateway/README.md
 * says, and there checks types and runs the quick tests that run a gateway with extensions. deletion.long.test.ts does it for one of them.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { extensionNames, lists, pathsOf } from "./extension-parts.js";
import { reaches, readImports } from "./imports.js";

// The runner does not run inside a test.
delete process.env.NODE_TEST_CONTEXT;
// Properties run as often as in `npm test`, whose limit of processor time applies.
delete process.env.PROPERTY_RUNS;
const asked = process.argv.slice(2);
const unknown = asked.find((name) => !extensionNames.includes(name));
if (unknown !== undefined) throw new Error(`"${unknown}" is none of ${extensionNames.join(", ")}.`);
for (const name of extensionNames) {
	if (asked.length > 0 && !asked.includes(name)) continue;
	const copy = mkdtempSync(join(tmpdir(), `without-${name}-`));
	try {
		copyProject(copy);
		remove(name, copy);
		const isWell = passesTests(copy);
		console.log(`without ${name}: ${isWell ? "passes" : "FAILS"}`);
		if (!isWell) process.exitCode = 1;
	} finally {
		rmSync(copy, { recursive: true });
	}
}

function copyProject(copy: string): void {
	const git = ["ls-files", "--cached", "--others", "--exclude-standard"];
	const files = execFileSync("git", git, { encoding: "utf8" }).trim().split("\n").filter(existsSync);
	// Cache of compiled firmware.
	if (existsSync(".cache/virtual")) files.push(".cache/virtual");
	for (const file of files) cpSync(file, join(copy, file), { recursive: true });
	symlinkSync(resolve("node_modules"), join(copy, "node_modules"));
	// Required by a test that lists the project's files with git.
	isDone(copy, "git", ["init", "--quiet"]);
	isDone(copy, "git", ["add", "--all"]);
}

function remove(name: string, copy: string): void {
	for (const path of pathsOf(name)) rmSync(join(copy, path), { recursive: true, force: true });
	for (const list of lists) {
		const file = join(copy, list);
		writeFileSync(file, withoutLines(readFileSync(file, "utf8"), dirname(file)));
	}
	isDone(copy, "npm", ["run", "--silent", "api"]);
	isDone(copy, "npx", ["biome", "check", "--write", ...lists]);
}

/** @returns the text without lines that name a removed file or anything imported from it */
function withoutLines(text: string, folder: string): string {
	const isGone = (line: string) => {
		const [, imported, command] =
			/"(\.{1,2}\/[^"]+)\.js"|\b((?:scripts|test)\/[^"\s]+)\.ts"/.exec(line) ?? [];
		const path = imported ?? command;
		// Entry of the line budget.
		const [, room] = /^\s*"([\w/-]+)": \d+,?$/.exec(line) ?? [];
		if (room !== undefined) return !existsSync(join(folder, room));
		return path !== undefined && !existsSync(join(folder, `${path}.ts`));
	};
	const lines = text.split("\n");
	const imported = lines
		.filter(isGone)
		.flatMap((line) => /^import \{ (?:\w+ as )?(\w+) \}/.exec(line)?.[1] ?? []);
	return lines
		.filter((line) => !isGone(line) && !imported.some((name) => new RegExp(`\\b${name}\\b`).test(line)))
		.join("\n");
}

/** Runs the tests, which also checks types. Tests that reach no extension pass as before. */
function passesTests(copy: string): boolean {
	const imports = readImports(copy);
	const tests = [...imports.keys()].filter(
		(file) =>
			/^test\/gateway\/.*(?<!\.long)\.test\.tsx?$/.test(file) &&
			reaches(imports, file, "gateway/extensions.ts"),
	);
	const words = ["--import", "tsx", "scripts/test.ts", "test/gateway/structure.test.ts", ...tests];
	return isDone(copy, "node", words);
}

function isDone(folder: string, command: string, words: readonly string[]): boolean {
	return spawnSync(command, words, { cwd: folder, stdio: "inherit" }).status === 0;
}
