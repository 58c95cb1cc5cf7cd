/** C code of the boards, compiled for this computer. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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

/** @returns the path of the program, which is removed at the end of the process. @throws AssertionError with the warnings */
export function compileC({ sources, folders, headers = {}, sanitizers }: CProgram): string {
	const work = mkdtempSync(join(tmpdir(), "c-program-"));
	process.once("exit", () => rmSync(work, { recursive: true, force: true }));
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
