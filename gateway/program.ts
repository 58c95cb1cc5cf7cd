/** Programs of this computer. */

import { accessSync, constants, statSync } from "node:fs";
import { delimiter, resolve } from "node:path";

/** Whether a program can be run. @param path folders to search for a name, as in PATH */
export function isProgram(name: string, path = "/usr/bin:/bin"): boolean {
	const folders = /[/\\]/.test(name) ? ["."] : path.split(delimiter);
	const endings = process.platform === "win32" ? ["", ".exe", ".com"] : [""];
	return folders.some((folder) => endings.some((ending) => isExecutable(resolve(folder, name + ending))));
}

function isExecutable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return statSync(path).isFile();
	} catch {
		return false;
	}
}
