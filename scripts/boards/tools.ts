/** Finds ESP-IDF, and the serial port of the board. */

import { accessSync, constants, existsSync } from "node:fs";
import { join } from "node:path";
import {
	describeProblem,
	foldersOnPath,
	isProblem,
	type Machine,
	pathsOf,
	quoted,
	type ToolProblem,
} from "../command-line/machine.js";
import type { FindOptions } from "../moddable/sdk.js";
import {
	activateIdf,
	idfSeries,
	idfVersion,
	installIdf,
	installIdfByEim,
	isIdfFitting,
} from "../moddable/versions.js";

export interface FoundIdf {
	readonly folder: string;
	/** Such as 6.0.2. */
	readonly version: string;
}

/** Below the home folder, where ESP-IDF is installed: what makes it ready in a terminal. */
const activations = [
	{ file: `esp/esp-idf-v${idfVersion}/export.sh`, command: activateIdf },
	{
		file: `.espressif/tools/activate_idf_v${idfVersion}.sh`,
		command: `. ~/.espressif/tools/activate_idf_v${idfVersion}.sh && export PATH="$IDF_PATH/tools:$PATH"`,
	},
];

/** ESP-IDF, which compiles for boards and QEMU, by its own files. */
export function findIdf(
	machine: Machine,
	{ isAnyVersion = false }: FindOptions = {},
): FoundIdf | ToolProblem {
	const { IDF_PATH: folder } = machine.environment;
	const { join } = pathsOf(machine);
	const isWindows = machine.platform === "win32";
	const installed = isWindows
		? undefined
		: activations.find(({ file }) => machine.exists(join(machine.home, file)));
	const mend = installed
		? `in ${folder ? "a new" : "this"} terminal: ${installed.command}`
		: isWindows
			? `${installIdfByEim}, then work in the shell whose shortcut it makes`
			: `${installIdf}, then in each terminal: ${activateIdf}`;
	if (!folder) return { problem: "IDF_PATH is not set: no ESP-IDF is ready in this terminal.", mend };
	if (!machine.exists(join(folder, "tools", "idf.py")))
		return { problem: `IDF_PATH is ${folder}, but there is no ESP-IDF.`, mend };
	const version = idfVersionOf(machine.read(join(folder, "tools", "cmake", "version.cmake")) ?? "");
	if (!isIdfFitting(version ?? "") && !isAnyVersion)
		return {
			isWrong: true,
			problem: `The ESP-IDF in ${folder} is ${version ? `v${version}` : "not whole"}; this project is built with v${idfSeries}.`,
			mend,
		};
	if (!foldersOnPath(machine).some((one) => machine.exists(join(one, "idf.py"))))
		return {
			isWrong: true,
			problem: "idf.py is not on the PATH.",
			mend: isWindows
				? 'in this shell: set "PATH=%IDF_PATH%\\tools;%PATH%"'
				: machine.environment.IDF_PYTHON_ENV_PATH
					? 'in this terminal: export PATH="$IDF_PATH/tools:$PATH"'
					: `in this terminal: . ${quoted(join(folder, "export.sh"))}`,
		};
	return { folder, version: version ?? "unknown" };
}

/** @param text of tools/cmake/version.cmake */
function idfVersionOf(text: string): string | undefined {
	const figures = ["MAJOR", "MINOR", "PATCH"].map(
		(name) => new RegExp(`set\\(\\s*IDF_VERSION_${name}\\s+(\\d+)`, "i").exec(text)?.[1],
	);
	return figures.includes(undefined) ? undefined : figures.join(".");
}

/** @returns a sentence that says what to do; undefined where ESP-IDF is ready */
export function missingIdf(machine: Machine, options: FindOptions = {}): string | undefined {
	const found = findIdf(machine, options);
	return isProblem(found) ? describeProblem(found) : undefined;
}

/** USB serial ports on Linux and macOS: the chip's own, and common converters. */
const portName = /^(ttyACM|ttyUSB|cu\.usbmodem|cu\.usbserial|cu\.wchusbserial|cu\.SLAB_USBtoUART)/;

/** @param list the names in a folder */
export function findPorts(list: (folder: string) => readonly string[], folder = "/dev"): readonly string[] {
	return list(folder)
		.filter((name) => portName.test(name))
		.sort()
		.map((name) => join(folder, name));
}

/** @param given from the command line; without it, the only port found. @returns the port, or a sentence that says what to do */
export function choosePort(
	given: string | undefined,
	ports: readonly string[],
): { readonly port: string } | { readonly problem: string } {
	// On Windows ports such as COM3 are not files.
	if (given && process.platform === "win32") return { port: given };
	if (given && !existsSync(given))
		return { problem: `There is no serial port ${given}. Is the board connected by USB?` };
	const [first, ...others] = given ? [given] : ports;
	if (!first) return { problem: "No board was found: connect it by USB, or give its serial port: port=…." };
	if (others.length > 0)
		return { problem: `There are several serial ports; choose one: port=${ports.join(" or port=")}.` };
	try {
		accessSync(first, constants.R_OK | constants.W_OK);
	} catch {
		return {
			problem: `You have no permission to open ${first}: add yourself to its group (often dialout), and log in again.`,
		};
	}
	return { port: first };
}
