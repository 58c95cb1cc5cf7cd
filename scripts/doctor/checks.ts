/** Checks of this computer's prerequisites. Each is a function of a machine and returns a fix for a problem. */

import { join } from "node:path";
import { findIdf, findPort, findPorts } from "../boards/tools.js";
import {
	type Found,
	findProgram,
	isProblem,
	type Machine,
	quoted,
	type ToolProblem,
} from "../command-line/machine.js";
import { findProject, findSdk, findSimulator, findTypeScript } from "../moddable/sdk.js";
import { activateIdf } from "../moddable/versions.js";
import { findQemu } from "../qemu/tools.js";
import { findWindow } from "../simulator/app.js";

export const purposes = ["demo", "simulator", "board"] as const;
export type Purpose = (typeof purposes)[number];

type Finding = Found | ToolProblem;

interface Check {
	readonly name: string;
	/** Empty for tools that only tests use. */
	readonly purposes: readonly Purpose[];
	/** Whether the purpose works without it. Default: false. */
	readonly isOptional?: boolean;
	run(machine: Machine): Finding | Promise<Finding>;
}

const oldestNode = 20;
/** Node 20 reached its end of life in April 2026 (https://github.com/nodejs/release). */
const oldestMaintainedNode = 22;

export const checks: readonly Check[] = [
	{ name: "Node", purposes, run: checkNode },
	{ name: "packages", purposes, run: findTypeScript },
	{ name: "C compiler", purposes: ["demo", "simulator"], run: systemProgram("cc") },
	{ name: "make", purposes, run: systemProgram("make") },
	{ name: "port", purposes: ["demo"], run: checkPort },
	{ name: "gateway", purposes: ["simulator", "board"], isOptional: true, run: checkGateway },
	{ name: "project", purposes: ["simulator", "board"], run: findProject },
	{ name: "Moddable SDK", purposes: ["simulator", "board"], run: (machine) => findSdk(machine) },
	{ name: "its simulator", purposes: ["simulator"], run: checkSimulator },
	{ name: "window", purposes: ["simulator"], run: findWindow },
	{ name: "ALSA", purposes: ["simulator"], run: checkSoundHeaders },
	{ name: "ESP-IDF", purposes: ["board"], run: (machine) => findIdf(machine) },
	{ name: "its Python", purposes: ["board"], run: checkPython },
	{ name: "Xtensa compiler", purposes: ["board"], run: checkXtensa },
	{ name: "CMake", purposes: ["board"], run: builder("cmake", "cmake") },
	{ name: "Ninja", purposes: ["board"], run: builder("ninja", "ninja-build") },
	{ name: "serial port", purposes: ["board"], run: checkSerialPort },
	{ name: "QEMU", purposes: [], isOptional: true, run: findQemu },
];

function checkNode({ nodeVersion }: Machine): Finding {
	const major = Number.parseInt(nodeVersion, 10);
	if (major >= oldestMaintainedNode) return { what: nodeVersion };
	if (major >= oldestNode) return { what: `${nodeVersion}, which is no longer maintained; use 22 or 24` };
	return {
		isWrong: true,
		problem: `Node ${nodeVersion} is too old; version ${oldestNode} or later is required.`,
		fix: "install Node 22 or 24 from https://nodejs.org.",
	};
}

function program(name: string, fix: (machine: Machine) => string): (machine: Machine) => Finding {
	return (machine) => {
		const file = findProgram(machine, name);
		return file ? { what: file } : { problem: `${name} is not on the PATH.`, fix: fix(machine) };
	};
}

/** Finds and runs the program, since the cc of macOS may only prompt to install the tools. */
function systemProgram(name: string): (machine: Machine) => Finding {
	const find = program(name, ({ platform }) => {
		if (platform === "darwin") return "xcode-select --install";
		if (platform === "win32")
			return "use WSL (https://learn.microsoft.com/windows/wsl): virtual devices require a Unix system.";
		return "sudo apt-get install build-essential, or the equivalent of your system.";
	});
	return (machine) => {
		const found = find(machine);
		if (isProblem(found)) return found;
		const { what: file } = found;
		const [version = ""] = (machine.run(file, ["--version"]) ?? "").split(/\r?\n/);
		if (version !== "") return { what: `${version}, ${file}` };
		const fix = `check the output of: ${quoted(file)} --version`;
		return { isWrong: true, problem: `${file} does not start.`, fix };
	};
}

/** Build tool that the installer of ESP-IDF does not include. */
function builder(name: string, debianName: string): (machine: Machine) => Finding {
	return program(name, ({ platform }) =>
		platform === "darwin"
			? `brew install ${name}`
			: `sudo apt-get install ${debianName}, or the equivalent of your system.`,
	);
}

const portOf = ({ environment }: Machine) => Number(environment.PORT || 8080);

/** Whether a gateway listens on the port; its health check requires no token. */
async function isGatewayAt(machine: Machine): Promise<boolean> {
	return (await machine.fetch(`http://127.0.0.1:${portOf(machine)}/healthz`)) === '{"status":"ok"}';
}

async function checkPort(machine: Machine): Promise<Finding> {
	const port = portOf(machine);
	if (!(await machine.isListening(port))) return { what: `${port} is free` };
	if (await isGatewayAt(machine))
		return { what: `${port} is used by a gateway; start a second one with PORT=${port + 1}` };
	return {
		isWrong: true,
		problem: `Another program listens on port ${port}.`,
		fix: `stop it, or use another port: PORT=${port + 1} npm run demo`,
	};
}

async function checkGateway(machine: Machine): Promise<Finding> {
	const port = portOf(machine);
	if (await isGatewayAt(machine)) return { what: `running at http://127.0.0.1:${port}` };
	return { problem: `No gateway at http://127.0.0.1:${port}.`, fix: "HOST=0.0.0.0 npm start" };
}

function checkSimulator(machine: Machine): Finding {
	const sdk = findSdk(machine, { isAnyVersion: true });
	if (isProblem(sdk)) return { problem: "Part of the Moddable SDK.", fix: "fix the Moddable SDK first." };
	return findSimulator(sdk, machine);
}

function checkSoundHeaders({ platform, exists }: Machine): Finding {
	const header = "/usr/include/alsa/asoundlib.h";
	if (platform !== "linux") return { what: "not needed on this system" };
	if (exists(header)) return { what: header };
	return { problem: "ALSA headers not found.", fix: "sudo apt-get install libasound2-dev" };
}

const withoutIdf: ToolProblem = { problem: "Part of ESP-IDF.", fix: "fix ESP-IDF first." };

/** Instructions to activate ESP-IDF. */
function notActive({ environment: { IDF_PATH } }: Machine): string {
	return `in this terminal: ${IDF_PATH ? `. ${quoted(`${IDF_PATH}/export.sh`)}` : activateIdf}`;
}

/** Python environment of ESP-IDF, set by its activation script. */
function checkPython(machine: Machine): Finding {
	if (isProblem(findIdf(machine, { isAnyVersion: true }))) return withoutIdf;
	const { IDF_PYTHON_ENV_PATH: folder } = machine.environment;
	if (!folder)
		return {
			problem: "IDF_PYTHON_ENV_PATH is not set: the Python of ESP-IDF is not active.",
			fix: notActive(machine),
		};
	const python = join(folder, "bin", "python");
	if (machine.isProgram(python)) return { what: python };
	return {
		isWrong: true,
		problem: `No Python in IDF_PYTHON_ENV_PATH (${folder}).`,
		fix: `reinstall it: ${quoted(`${machine.environment.IDF_PATH}/install.sh`)} esp32,esp32s3`,
	};
}

function checkXtensa(machine: Machine): Finding {
	if (isProblem(findIdf(machine, { isAnyVersion: true }))) return withoutIdf;
	return program("xtensa-esp32s3-elf-gcc", notActive)(machine);
}

function checkSerialPort(machine: Machine): Finding {
	const ports = findPorts(machine);
	const wrong = ports.map((port) => findPort(machine, port)).find(isProblem);
	const found = wrong ?? findPort(machine, ports[0]);
	return isProblem(found) ? found : { what: ports.join(", ") };
}
