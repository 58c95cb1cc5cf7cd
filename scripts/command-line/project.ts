/** Where the project lies, and its version. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isRecord } from "../../device/protocol/schema.js";

export const projectFolder = fileURLToPath(new URL("../..", import.meta.url));

/** The version in package.json: that of an image where no other is given. */
export function packageVersion(): string {
	const value: unknown = JSON.parse(readFileSync(join(projectFolder, "package.json"), "utf8"));
	if (isRecord(value) && typeof value.version === "string") return value.version;
	throw new Error("package.json has no version");
}
