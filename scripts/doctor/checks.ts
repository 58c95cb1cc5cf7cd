/** Checks of this computer's prerequisites. Each is a function of a machine and returns a fix for a problem. */

import { join } from "node:path";
import { findIdf, findPort, findPorts } from "../boards/tools.js";
import { findPrograms, type Machine, quoted, ToolError, WrongToolError } from "../command-line/machine.js";
import { findProject, findSdk, findSimulator, findTypeScript } from "../moddable/sdk.js";
import { activateIdf } from "../moddable/versions.js";
import { findQemu } from "../qemu/tools.js";
import { findWindow } from "../simulator/app.js";

export const purposes = ["demo", "simulator", "board"] as const;
export type Purpose = (typeof purposes)[number];

interface Check {
	readonly name: string;
	/** Empty for tools that only tests use. */
	readonly purposes: readonly Purpose[];
	/** Whether the purpose works without it. Default: false. */
	readonly isOptional?: boolean;
	/** @returns version and location @throws {ToolError} */
	run(machine: Machine): string | Promise<string>;
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
	{ name: "Moddable SDK", purposes: ["simulator", "board"], run: checkSdk },
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

function checkNode({ nodeVersion }: Machine): string {
	const major = Number.parseInt(nodeVersion, 10);
	if (major >= oldestMaintainedNode) return nodeVersion;
	if (major >= oldestNode) return `${nodeVersion}, which is no longer maintained; use 22 or 24`;
	throw new WrongToolError(
		`Node ${nodeVersion} is too old; version ${oldestNode} or later is required.`,
		"install Node 22 or 24 from https://nodejs.org.",
	);
}

function program(name: string, fix: (machine: Machine) => string): (machine: Machine) => string {
	return (machine) => {
		const [file] = findPrograms(machine, name);
		if (file) return file;
		throw new ToolError(`${name} is not on the PATH.`, fix(machine));
	};
}

/** Finds and runs the program, since the cc of macOS may only prompt to install the tools. */
function systemProgram(name: string): (machine: Machine) => string {
	const find = program(name, ({ platform }) => {
		if (platform === "darwin") return "xcode-select --install";
		if (platform === "win32")
			return "use WSL (https://learn.microsoft.com/windows/wsl): virtual devices require a Unix system.";
		return "sudo apt-get install build-essential, or the equivalent of your system.";
	});
	return (machine) => {
		const file = find(machine);
		const [version = ""] = (machine.run(file, ["--version"]) ?? "").split(/\r?\n/);
		if (version !== "") return `${version}, ${file}`;
		throw new WrongToolError(`${file} does not start.`, `check the output of: ${quoted(file)} --version`);
	};
}

/** Build tool that the installer of ESP-IDF does not include. */
function builder(name: string, debianName: string): (machine: Machine) => string {
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

async function checkPort(machine: Machine): Promise<string> {
	const port = portOf(machine);
	if (!(await machine.isListening(port))) return `${port} is free`;
	if (await isGatewayAt(machine))
		return `${port} is used by a gateway; start a second one with PORT=${port + 1}`;
	throw new WrongToolError(
		`Another program listens on port ${port}.`,
		`stop it, or use another port: PORT=${port + 1} npm run demo`,
	);
}

async function checkGateway(machine: Machine): Promise<string> {
	const port = portOf(machine);
	if (await isGatewayAt(machine)) return `running at http://127.0.0.1:${port}`;
	throw new ToolError(`No gateway at http://127.0.0.1:${port}.`, "HOST=0.0.0.0 npm start");
}

function checkSdk(machine: Machine): string {
	const { version, folder } = findSdk(machine);
	return `${version}, ${folder}`;
}

function checkSimulator(machine: Machine): string {
	return findSimulator(
		requireFirst("the Moddable SDK", () => findSdk(machine, { isAnyVersion: true })),
		machine,
	);
}

function checkSoundHeaders({ platform, exists }: Machine): string {
	const header = "/usr/include/alsa/asoundlib.h";
	if (platform !== "linux") return "not needed on this system";
	if (exists(header)) return header;
	throw new ToolError("ALSA headers not found.", "sudo apt-get install libasound2-dev");
}

/** Finds the tool of which the checked one is a part. @throws {ToolError} that refers to its own check */
function requireFirst<T>(name: string, find: () => T): T {
	try {
		return find();
	} catch {
		throw new ToolError(`Part of ${name}.`, `fix ${name} first.`);
	}
}

/** Instructions to activate ESP-IDF. */
function notActive({ environment: { IDF_PATH } }: Machine): string {
	return `in this terminal: ${IDF_PATH ? `. ${quoted(`${IDF_PATH}/export.sh`)}` : activateIdf}`;
}

/** Python environment of ESP-IDF, set by its activation script. */
function checkPython(machine: Machine): string {
	requireFirst("ESP-IDF", () => findIdf(machine, { isAnyVersion: true }));
	const { IDF_PYTHON_ENV_PATH: folder } = machine.environment;
	if (!folder)
		throw new ToolError(
			"IDF_PYTHON_ENV_PATH is not set: the Python of ESP-IDF is not active.",
			notActive(machine),
		);
	const python = join(folder, "bin", "python");
	if (machine.isProgram(python)) return python;
	throw new WrongToolError(
		`No Python in IDF_PYTHON_ENV_PATH (${folder}).`,
		`reinstall it: ${quoted(`${machine.environment.IDF_PATH}/install.sh`)} esp32,esp32s3`,
	);
}

function checkXtensa(machine: Machine): string {
	requireFirst("ESP-IDF", () => findIdf(machine, { isAnyVersion: true }));
	return program("xtensa-esp32s3-elf-gcc", notActive)(machine);
}

function checkSerialPort(machine: Machine): string {
	const ports = findPorts(machine);
	return ports.length === 0 ? findPort(machine) : ports.map((port) => findPort(machine, port)).join(", ");
}
