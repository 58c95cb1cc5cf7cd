/** Finds the build tools for boards, QEMU and the simulator, and the serial port of a board. */

import { join } from "node:path";
import {
	foldersOnPath,
	type Machine,
	requireBuildPath,
	ToolError,
	thisMachine,
	WrongToolError,
} from "../command-line/machine.js";
import type { Problems } from "../command-line/problems.js";
import { type FindOptions, findProject, findSdk, findTypeScript, type ModdableSdk } from "../moddable/sdk.js";
import { activateIdf, idfSeries, idfVersion, installIdf, isIdfFitting } from "../moddable/versions.js";

/** Activation commands by the location of ESP-IDF below the home folder. */
const activations = [
	{ file: `esp/esp-idf-v${idfVersion}/export.sh`, command: activateIdf },
	{
		file: `.espressif/tools/activate_idf_v${idfVersion}.sh`,
		command: `. ~/.espressif/tools/activate_idf_v${idfVersion}.sh && export PATH="$IDF_PATH/tools:$PATH"`,
	},
];

/** Finds ESP-IDF, the toolchain for boards and QEMU. @returns version and folder @throws {ToolError} */
export function findIdf(machine: Machine, { isAnyVersion = false }: FindOptions = {}): string {
	const { IDF_PATH: folder } = machine.environment;
	const installed = activations.find(({ file }) => machine.exists(join(machine.home, file)));
	const fix = installed
		? `in ${folder ? "a new" : "this"} terminal: ${installed.command}`
		: `${installIdf}, then in each terminal: ${activateIdf}`;
	if (!folder) throw new ToolError("IDF_PATH is not set: ESP-IDF is not active in this terminal.", fix);
	if (!machine.exists(join(folder, "tools", "idf.py")))
		throw new ToolError(`No ESP-IDF in IDF_PATH (${folder}).`, fix);
	requireBuildPath("ESP-IDF", folder);
	const version = idfVersionOf(machine.read(join(folder, "tools", "cmake", "version.cmake")) ?? "");
	if (!isIdfFitting(version ?? "") && !isAnyVersion)
		throw new WrongToolError(
			`ESP-IDF in ${folder} is ${version ? `v${version}` : "incomplete"}; this project requires v${idfSeries}.`,
			fix,
		);
	if (!foldersOnPath(machine).some((path) => machine.exists(join(path, "idf.py"))))
		throw new WrongToolError(
			"idf.py is not on the PATH.",
			machine.environment.IDF_PYTHON_ENV_PATH
				? 'in this terminal: export PATH="$IDF_PATH/tools:$PATH"'
				: `in this terminal: . ${join(folder, "export.sh")}`,
		);
	return `v${version ?? "unknown"}, ${folder}`;
}

/** @param text contents of tools/cmake/version.cmake */
function idfVersionOf(text: string): string | undefined {
	const figures = ["MAJOR", "MINOR", "PATCH"].map(
		(name) => new RegExp(`set\\(\\s*IDF_VERSION_${name}\\s+(\\d+)`, "i").exec(text)?.[1],
	);
	return figures.includes(undefined) ? undefined : figures.join(".");
}

/** USB serial ports on Linux and macOS: native ones and common bridges. */
const portName = /^(ttyACM|ttyUSB|cu\.usbmodem|cu\.usbserial|cu\.wchusbserial|cu\.SLAB_USBtoUART)/;

export function findPorts(machine: Machine): readonly string[] {
	return machine
		.list("/dev")
		.filter((name) => portName.test(name))
		.sort()
		.map((name) => `/dev/${name}`);
}

/** @param path port of the command line; default: the only connected port @throws {ToolError} */
export function findPort(machine: Machine, path?: string): string {
	if (path && !machine.exists(path))
		throw new ToolError(
			`Serial port ${path} not found.`,
			"connect the board by USB, or specify another port.",
		);
	const ports = path ? [path] : findPorts(machine);
	const [port, ...others] = ports;
	if (!port)
		throw new ToolError(
			"No board connected by USB.",
			"connect it with a data cable, or specify its serial port: port=….",
		);
	if (others.length > 0)
		throw new ToolError("Several serial ports found.", `specify one: port=${ports.join(" or port=")}.`);
	if (machine.isOpen(port)) return port;
	throw new WrongToolError(
		`No permission to open ${port}.`,
		`sudo usermod -aG $(stat -c %G ${port}) $USER, and log in again.`,
	);
}

/** Finds all build tools for the simulator. @param problems collects missing and invalid tools */
export function needSdk(problems: Problems, options: FindOptions): ModdableSdk | undefined {
	const machine = thisMachine();
	problems.attempt(() => findProject(machine));
	problems.attempt(() => findTypeScript(machine));
	return problems.attempt(() => findSdk(machine, options));
}

/** Finds all build tools for boards and QEMU. @param problems collects missing and invalid tools */
export function needBoardTools(problems: Problems, options: FindOptions): ModdableSdk | undefined {
	const sdk = needSdk(problems, options);
	problems.attempt(() => findIdf(thisMachine(), options));
	return sdk;
}
