/** Writes a program from flash to a file for the machine, named by its hash, so that devices share it. */

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../../../../.cache/virtual/", import.meta.url));

/** @returns its path */
export function programFile(program: Uint8Array): string {
	const name = createHash("sha256").update(program).digest("hex").slice(0, 16);
	const file = join(folder, `program-${name}.xs`);
	if (existsSync(file)) return file;
	mkdirSync(folder, { recursive: true });
	const temporary = `${file}.${process.pid}`;
	writeFileSync(temporary, program);
	renameSync(temporary, file);
	return file;
}
