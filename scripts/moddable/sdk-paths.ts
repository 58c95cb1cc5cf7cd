/** Paths of the Moddable SDK in the manifests of this project, to verify an SDK. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Machine, pathsOf } from "../command-line/machine.js";
import { projectFolder } from "../command-line/project.js";

/** Manifests that reference files of the SDK. */
export const manifests = [
	"manifest.json",
	"hosts/esp32/common.json",
	"hosts/esp32/manifest.json",
	"hosts/esp32/tcp/manifest.json",
	"hosts/moddable/tls/manifest.json",
	"hosts/qemu/manifest.json",
	"hosts/simulator/manifest.json",
] as const;

/** @returns paths relative to the SDK in the notation of mcconfig: with slashes, modules without suffix, and `*` as a wildcard */
export function sdkPathsOf(manifest: string): readonly string[] {
	const text = readFileSync(join(projectFolder, manifest), "utf8");
	return [...text.matchAll(/"\$\((MODDABLE|MODULES)\)\/([^"]+)"/g)].map(([, root, path = ""]) =>
		root === "MODULES" ? `modules/${path}` : path,
	);
}

/** @returns first missing path; undefined for a complete SDK */
export function findLackingPath(machine: Machine, folder: string): string | undefined {
	return manifests.flatMap(sdkPathsOf).find((path) => !exists(machine, folder, path));
}

function exists(machine: Machine, folder: string, path: string): boolean {
	const { join } = pathsOf(machine);
	// Folders by platform, which not every module has.
	const [known = ""] = path.split("$(PLATFORM)");
	const parts = known.replace(/\/$/, "").split("/");
	const last = parts.pop() ?? "";
	const names = machine.list(join(folder, ...parts));
	if (last.endsWith("*")) return names.some((name) => name.startsWith(last.slice(0, -1)));
	return names.some((name) => name === last || name.startsWith(`${last}.`));
}
