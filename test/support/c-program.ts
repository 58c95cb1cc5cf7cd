/** C code of the boards, compiled for this computer. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { projectFolder } from "../../scripts/command-line/project.js";
import { pathOf, whyMissing } from "./programs.js";

/** Reason for node:test to skip, or undefined. */
export const withoutCompiler = whyMissing("C compiler");

export interface CProgram {
	/** Files relative to the project, or the text of one. */
	readonly sources: readonly string[] | string;
	/** Folders with their headers, relative to the project. */
	readonly folders: readonly string[];
	/** Declarations from an SDK's headers that the files need, by the header's path. */
	readonly headers?: Readonly<Record<string, string>>;
	/** Default: AddressSanitizer and UndefinedBehaviorSanitizer. */
	readonly sanitizers?: readonly string[];
}

/** Folder of this process' programs. */
let programs: string | undefined;

function makePrograms(): string {
	const folder = mkdtempSync(join(tmpdir(), "c-programs-"));
	process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
	return folder;
}

/** @returns the path of the program, which is removed at the end of the process. @throws AssertionError with the warnings */
export function compileC({ sources, folders, headers = {}, sanitizers }: CProgram): string {
	programs ??= makePrograms();
	const work = mkdtempSync(join(programs, "program-"));
	for (const [name, text] of Object.entries(headers)) {
		mkdirSync(dirname(join(work, name)), { recursive: true });
		writeFileSync(join(work, name), text);
	}
	const program = join(work, "program");
	const words = [
		...["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-I", work],
		...(sanitizers ?? ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]),
		...folders.flatMap((folder) => ["-I", join(projectFolder, folder)]),
		...["-o", program],
		...(typeof sources === "string" ? ["-x", "c", "-"] : sources.map((file) => join(projectFolder, file))),
	];
	const input = typeof sources === "string" ? sources : "";
	const made = spawnSync(pathOf("C compiler"), words, { input, encoding: "utf8" });
	assert.equal(made.stderr, "");
	return program;
}

/**
 * Compiles a harness in test/hosts/esp32 that includes a file of hosts/esp32. ESP-IDF's headers are empty: the harness
 * defines what the file needs of them.
 *
 * @returns as compileC
 */
export function compileHarness(harness: string, file: string, sanitizers?: readonly string[]): string {
	const text = readFileSync(join(projectFolder, "hosts", "esp32", file), "utf8");
	const headers = Array.from(text.matchAll(/^#include "(.+)"$/gm), ([, name = ""]) => [name, ""]);
	return compileC({
		sources: [`test/hosts/esp32/${harness}`],
		folders: ["hosts/esp32"],
		headers: Object.fromEntries(headers),
		...(sanitizers && { sanitizers }),
	});
}

/** Runs a program. @returns its standard output @throws AssertionError if it fails or a sanitizer finds something */
export function runC(program: string, input: string | Uint8Array, ...words: readonly string[]): Buffer {
	const { stdout, stderr, status } = spawnSync(program, words, { input, maxBuffer: 2 ** 30 });
	assert.deepEqual([stderr.toString(), status], ["", 0]);
	return stdout;
}
