/** Writes a generated document. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Writes a file unless it already has the text. @returns message about the result */
export function writeDocument(file: URL, text: string): string {
	const path = fileURLToPath(file);
	if (existsSync(file) && readFileSync(file, "utf8") === text) return `${path} is up to date.`;
	writeFileSync(file, text);
	return `Wrote ${path}.`;
}
