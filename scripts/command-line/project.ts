/** Folder and version of the project. */

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { isRecord } from "../../device/protocol/schema.js";

export const projectFolder = resolve(fileURLToPath(new URL("../..", import.meta.url)));

export function packageVersion(): string {
	const value: unknown = JSON.parse(readFileSync(join(projectFolder, "package.json"), "utf8"));
	if (isRecord(value) && typeof value.version === "string") return value.version;
	throw new Error("No version in package.json.");
}
