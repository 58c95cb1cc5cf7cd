/** Finds and starts Espressif's QEMU. The program of the same name in Linux distributions does not support the ESP32. */

import { spawn } from "node:child_process";
import {
	type Found,
	findPrograms,
	foldersOnPath,
	type Machine,
	pathsOf,
	quoted,
	type ToolProblem,
} from "../command-line/machine.js";

const board = "esp32";

const install =
	"python $IDF_PATH/tools/idf_tools.py install qemu-xtensa, and then . $IDF_PATH/export.sh in this terminal.";

/** Finds QEMU on the PATH, or in the folder of ESP-IDF. */
export function findQemu(machine: Machine): Found | ToolProblem {
	const { join } = pathsOf(machine);
	const { IDF_TOOLS_PATH } = machine.environment;
	const installed = join(IDF_TOOLS_PATH || join(machine.home, ".espressif"), "tools", "qemu-xtensa");
	const versions = [...machine.list(installed)].sort().reverse();
	const folders = [
		...foldersOnPath(machine),
		...versions.map((version) => join(installed, version, "qemu", "bin")),
	];
	const programs = findPrograms(machine, "qemu-system-xtensa", folders);
	let problem: ToolProblem | undefined;
	for (const qemu of programs) {
		const machines = machine.run(qemu, ["-machine", "help"]);
		if (machines?.split(/\r?\n/).some((line) => line.split(" ")[0] === board)) return { what: qemu };
		problem ??=
			machines === undefined
				? {
						isWrong: true,
						problem: `${qemu} does not start.`,
						fix: `see what this prints: ${quoted(qemu)} -machine help`,
					}
				: {
						isWrong: true,
						problem: `${qemu} does not support ${board}: it is not Espressif's QEMU.`,
						fix: install,
					};
	}
	return problem ?? { problem: "Espressif's QEMU not found.", fix: install };
}

/** @param flash flash image, which QEMU modifies @returns process whose standard input and output are the serial port */
export function startQemu(qemu: string, flash: string) {
	// QEMU would forward Ctrl-C to the serial port if standard input were a terminal.
	const child = spawn(qemu, qemuArguments(flash), { stdio: ["pipe", "pipe", "inherit"] });
	// The device may restart or QEMU exit during a write.
	child.stdin.on("error", () => {});
	return child;
}

/** @param flash flash image */
export function qemuArguments(flash: string): readonly string[] {
	return [
		"-display",
		"none",
		// "-nographic" would treat byte 1, which occurs in serial packets, as a command to QEMU.
		"-serial",
		"stdio",
		"-monitor",
		"none",
		"-machine",
		board,
		"-drive",
		// Commas are doubled, since a single one starts the next option.
		`file=${flash.replaceAll(",", ",,")},if=mtd,format=raw`,
		"-nic",
		"user,model=open_eth",
	];
}
