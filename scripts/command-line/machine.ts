/** What a check of tools sees of a computer: its files, programs and ports. Tests have made-up ones. */

import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync, readFileSync, statfsSync } from "node:fs";
import { connect } from "node:net";
import { homedir } from "node:os";
import path from "node:path";
import { projectFolder } from "./project.js";

export interface Machine {
	readonly platform: NodeJS.Platform;
	/** Such as 22.12.0. */
	readonly nodeVersion: string;
	/** Of the user. */
	readonly home: string;
	/** This checkout. */
	readonly project: string;
	readonly environment: Readonly<NodeJS.ProcessEnv>;
	exists(path: string): boolean;
	/** @returns undefined if it cannot be read */
	read(path: string): string | undefined;
	/** Names in a folder; none if it cannot be read. */
	list(folder: string): readonly string[];
	isProgram(path: string): boolean;
	/** Whether this user may read and write it. */
	isOpen(path: string): boolean;
	/** What it prints. @param program its path @returns undefined if it fails */
	run(program: string, words: readonly string[]): string | undefined;
	/** Undefined if it is not known. */
	freeBytes(folder: string): number | undefined;
	/** Whether a program listens on that port of 127.0.0.1. */
	isListening(port: number): Promise<boolean>;
	/** The body of a successful answer; undefined if there is none. */
	fetch(url: string): Promise<string | undefined>;
}

/** A tool, or something else that a computer has. */
export interface Found {
	/** Its version and place, in words; of a program and a port that is its path. */
	readonly what: string;
}

/** In place of a tool: what is wrong, and how a person corrects it. */
export interface ToolProblem {
	/** One sentence. */
	readonly problem: string;
	/** A command or a sentence. */
	readonly fix: string;
	/** There is one, but another than is needed. */
	readonly isWrong?: boolean;
}

export function isProblem(found: Found | ToolProblem): found is ToolProblem {
	return "problem" in found;
}

/** As an error or a warning. */
export function describeProblem({ problem, fix }: ToolProblem): string {
	return `${problem} Fix it: ${fix}`;
}

/** The one on which this process runs. */
export function thisMachine(environment: NodeJS.ProcessEnv = process.env): Machine {
	return {
		platform: process.platform,
		nodeVersion: process.versions.node,
		home: homedir(),
		project: projectFolder,
		environment,
		exists: existsSync,
		read: (file) => orUndefined(() => readFileSync(file, "utf8")),
		list: (folder) => orUndefined(() => readdirSync(folder)) ?? [],
		isProgram: (file) => isAllowed(file, constants.X_OK),
		isOpen: (file) => isAllowed(file, constants.R_OK | constants.W_OK),
		run: (program, words) => {
			const { status, stdout } = spawnSync(program, words, { encoding: "utf8", env: environment });
			return status === 0 ? stdout : undefined;
		},
		freeBytes: (folder) =>
			orUndefined(() => {
				const { bavail, bsize } = statfsSync(folder);
				return bavail * bsize;
			}),
		isListening: (port) =>
			new Promise((resolve) => {
				const socket = connect(port, "127.0.0.1");
				socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
				socket.on("connect", () => socket.destroy());
			}),
		fetch: async (url) => {
			const response = await fetch(url, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
			return response?.ok ? response.text() : undefined;
		},
	};
}

/** How paths are written there. */
export function pathsOf({ platform }: Pick<Machine, "platform">): path.PlatformPath {
	return platform === "win32" ? path.win32 : path.posix;
}

/** @returns the path of a program on the PATH */
export function findProgram(machine: Machine, name: string): string | undefined {
	return findPrograms(machine, name, foldersOnPath(machine))[0];
}

/** @returns the paths of all programs of that name in the folders */
export function findPrograms(machine: Machine, name: string, folders: readonly string[]): readonly string[] {
	const { join } = pathsOf(machine);
	const names = machine.platform === "win32" ? [`${name}.exe`, `${name}.cmd`, `${name}.bat`, name] : [name];
	return folders
		.flatMap((folder) => names.map((each) => join(folder, each)))
		.filter((file) => machine.isProgram(file));
}

export function foldersOnPath(machine: Machine): readonly string[] {
	// Windows writes it as Path.
	const { PATH = machine.environment.Path ?? "" } = machine.environment;
	return PATH.split(pathsOf(machine).delimiter).filter((folder) => folder !== "");
}

/**
 * The build with make, nmake and CMake takes other characters for separators, patterns and variables.
 *
 * @param what such as "The project" @returns undefined: it can build there
 */
export function findPathProblem(
	{ platform }: Pick<Machine, "platform">,
	what: string,
	folder: string,
): ToolProblem | undefined {
	const path = platform === "win32" ? folder.replace(/^[a-z]:/i, "").replaceAll("\\", "/") : folder;
	const characters = new Set(path.match(/[^\p{L}\p{M}\p{N}/_.,+@~-]/gu));
	if (characters.size === 0) return undefined;
	const listed = [...characters].map((each) => JSON.stringify(each)).join(", ");
	return {
		isWrong: true,
		problem: `${what} is in ${folder}; the Moddable SDK and ESP-IDF cannot build with ${listed} in a path.`,
		fix: 'move it to a folder whose path has only letters, digits, ".", "_" and "-".',
	};
}

/** For a command line that a person copies. */
export function quoted(file: string): string {
	return /^[\w@%+=:,./\\~-]+$/.test(file) ? file : `"${file}"`;
}

function orUndefined<T>(action: () => T): T | undefined {
	try {
		return action();
	} catch {
		return undefined;
	}
}

function isAllowed(file: string, mode: number): boolean {
	return orUndefined(() => accessSync(file, mode) === undefined) ?? false;
}
