/** Finds Espressif's QEMU; a Linux distribution's program of the same name has no ESP32. */

import { spawnSync } from "node:child_process";
import { accessSync, constants, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { MissingTool } from "../moddable/sdk.js";

const program = process.platform === "win32" ? "qemu-system-xtensa.exe" : "qemu-system-xtensa";
const machine = "esp32";

/** @returns its path. @throws MissingTool */
export function findQemu(environment: NodeJS.ProcessEnv): string {
	const install =
		"python $IDF_PATH/tools/idf_tools.py install qemu-xtensa, and then . $IDF_PATH/export.sh in this terminal";
	const candidates = [...onPath(environment), ...inIdfTools(environment)].filter(isProgram);
	if (candidates.length === 0)
		throw new MissingTool(
			`${program} was not found: Espressif's QEMU runs the device. Install it: ${install}.`,
		);
	let problem = "";
	for (const qemu of candidates) {
		const { stdout, stderr, status } = spawnSync(qemu, ["-machine", "help"], { encoding: "utf8" });
		if (status === 0 && stdout.split(/\r?\n/).some((line) => line.split(" ")[0] === machine)) return qemu;
		problem ||=
			status === 0
				? `${qemu} has no machine ${machine}: it is not Espressif's. Install that: ${install}.`
				: `${qemu} does not start: ${stderr?.trim().split("\n")[0] || `it ended with ${status}`}.`;
	}
	throw new MissingTool(problem);
}

function onPath({ PATH = "" }: NodeJS.ProcessEnv): readonly string[] {
	return PATH.split(delimiter)
		.filter((folder) => folder !== "")
		.map((folder) => join(folder, program));
}

/** Where ESP-IDF installs it, newest first. */
function inIdfTools({ IDF_TOOLS_PATH }: NodeJS.ProcessEnv): readonly string[] {
	const folder = join(IDF_TOOLS_PATH || join(homedir(), ".espressif"), "tools", "qemu-xtensa");
	try {
		return readdirSync(folder)
			.sort()
			.reverse()
			.map((version) => join(folder, version, "qemu", "bin", program));
	} catch {
		return [];
	}
}

function isProgram(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
}

/** @param flash file with the flash's contents, which QEMU changes */
export function qemuArguments(flash: string): readonly string[] {
	return [
		"-nographic",
		"-machine",
		machine,
		"-drive",
		// A single comma starts the next option.
		`file=${flash.replaceAll(",", ",,")},if=mtd,format=raw`,
		"-nic",
		"user,model=open_eth",
	];
}
