/** The paths into the Moddable SDK that this project names: those of its manifests, so that an SDK can be compared with them. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Machine, pathsOf } from "../command-line/machine.js";
import { projectFolder } from "../command-line/project.js";

/** Our manifests that name files of the SDK. */
export const manifests = [
	"manifest.json",
	"hosts/esp32/common.json",
	"hosts/esp32/manifest.json",
	"hosts/esp32/tcp/manifest.json",
	"hosts/moddable/tls/manifest.json",
	"hosts/qemu/manifest.json",
	"hosts/simulator/manifest.json",
] as const;

/** @returns paths below the SDK's folder as mcconfig takes them, with slashes: a module has no ending, and `*` stands for the rest */
export function sdkPathsOf(manifest: string): readonly string[] {
	const text = readFileSync(join(projectFolder, manifest), "utf8");
	return [...text.matchAll(/"\$\((MODDABLE|MODULES)\)\/([^"]+)"/g)].map(([, root, path = ""]) =>
		root === "MODULES" ? `modules/${path}` : path,
	);
}

/** @returns the first path that an SDK lacks; undefined: it has all */
export function findLackingPath(machine: Machine, folder: string): string | undefined {
	return manifests.flatMap(sdkPathsOf).find((path) => !isThere(machine, folder, path));
}

function isThere(machine: Machine, folder: string, path: string): boolean {
	const { join } = pathsOf(machine);
	// A folder for each system that mcconfig builds for; not each module has all of them.
	const [known = ""] = path.split("$(PLATFORM)");
	const parts = known.replace(/\/$/, "").split("/");
	const last = parts.pop() ?? "";
	const names = machine.list(join(folder, ...parts));
	if (last.endsWith("*")) return names.some((name) => name.startsWith(last.slice(0, -1)));
	return names.some((name) => name === last || name.startsWith(`${last}.`));
}
