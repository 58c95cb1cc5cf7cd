/** Abstraction of a computer for checks of tools: its files, programs and ports. Tests simulate it. */

import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { projectFolder } from "./project.js";

export interface Machine {
	readonly platform: NodeJS.Platform;
	/** For example 22.12.0. */
	readonly nodeVersion: string;
	/** Home folder of the user. */
	readonly home: string;
	/** Folder of this checkout. */
	readonly project: string;
	readonly environment: Readonly<NodeJS.ProcessEnv>;
	exists(path: string): boolean;
	/** @returns contents; undefined if unreadable */
	read(path: string): string | undefined;
	/** Lists names in a folder; empty if unreadable. */
	list(folder: string): readonly string[];
	isProgram(path: string): boolean;
	/** Whether this user has read and write access. */
	isOpen(path: string): boolean;
	/** Runs a program. @returns its output; undefined after a failure */
	run(program: string, words: readonly string[]): string | undefined;
	/** Whether a program listens on a port of 127.0.0.1. */
	isListening(port: number): Promise<boolean>;
	/** Fetches a body; undefined without a successful response. */
	fetch(url: string): Promise<string | undefined>;
}

/** Missing tool or resource. */
export class ToolError extends Error {
	readonly problem: string;
	readonly fix: string;

	/** @param problem sentence @param fix command or sentence */
	constructor(problem: string, fix: string) {
		super(`${problem} Fix: ${fix}`);
		this.name = new.target.name;
		this.problem = problem;
		this.fix = fix;
	}
}

/** Unsuitable tool or resource. */
export class WrongToolError extends ToolError {}

/** Returns the computer of this process. */
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

/** Finds all programs of a name. @param folders default: the PATH */
export function findPrograms(machine: Machine, name: string, folders = foldersOnPath(machine)) {
	return folders.map((folder) => join(folder, name)).filter((file) => machine.isProgram(file));
}

export function foldersOnPath({ environment: { PATH = "" } }: Machine): readonly string[] {
	return PATH.split(delimiter).filter((folder) => folder !== "");
}

/**
 * Checks a path for characters that make and CMake treat as separators, patterns or variables.
 *
 * @param what subject, such as "The project" @throws {ToolError}
 */
export function requireBuildPath(what: string, folder: string): void {
	const characters = new Set(folder.match(/[^\p{L}\p{M}\p{N}/_.,+@~-]/gu));
	if (characters.size === 0) return;
	const listed = [...characters].map((character) => JSON.stringify(character)).join(", ");
	throw new WrongToolError(
		`${what} is in ${folder}; the Moddable SDK and ESP-IDF cannot build with ${listed} in a path.`,
		'move it to a folder whose path contains only letters, digits, ".", "_" and "-".',
	);
}

/** Quotes a path for a shell if needed. */
export function quoted(file: string): string {
	return /^[\w@%+=:,./~-]+$/.test(file) ? file : `"${file}"`;
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
