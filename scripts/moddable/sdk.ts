/** Detection of the Moddable SDK, and builds with mcconfig. */

import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { sdkFolder } from "../../hosts/virtual/node/xs.js";
import { exitCodeOf } from "../command-line/child.js";
import { type Machine, requireBuildPath, ToolError, WrongToolError } from "../command-line/machine.js";
import { projectFolder } from "../command-line/project.js";
import { installSdk, sdkVersion } from "./versions.js";

/** Operating system in the notation of mcconfig. */
export type Desktop = "lin" | "mac";
const desktops: Partial<Record<NodeJS.Platform, Desktop>> = { linux: "lin", darwin: "mac" };

export interface ModdableSdk {
	readonly folder: string;
	readonly version: string;
	readonly desktop: Desktop;
	/** Folder of its programs. */
	readonly tools: string;
	/** Environment of its tools: MODDABLE, a PATH with them and the project's tsc, and no tokens. */
	readonly environment: Readonly<NodeJS.ProcessEnv>;
}

/** Flag of build commands that accepts other versions of the SDK and ESP-IDF. */
export const anyVersionFlag = "any-version";

export interface FindOptions {
	/** Default: false. */
	readonly isAnyVersion?: boolean;
}

/** Checks the project path, which the SDK's makefiles contain. @returns the path @throws {ToolError} */
export function findProject({ project }: Machine): string {
	requireBuildPath("This project", project);
	return project;
}

/** Finds the SDK in MODDABLE, or in the default folder of xs-dev. @throws {ToolError} */
export function findSdk(machine: Machine, { isAnyVersion = false }: FindOptions = {}): ModdableSdk {
	const { MODDABLE: configured } = machine.environment;
	const desktop = desktops[machine.platform];
	if (!desktop)
		throw new ToolError(
			`Builds with the Moddable SDK are not supported on ${machine.platform}.`,
			"use Linux or macOS; on Windows, WSL (https://learn.microsoft.com/windows/wsl).",
		);
	const folder = sdkFolder(machine.environment, machine.home, machine.platform);
	if (!machine.exists(join(folder, "tools", "mcconfig.js")))
		throw new ToolError(
			configured
				? `MODDABLE is ${configured}, which contains no Moddable SDK.`
				: `No Moddable SDK in ${folder}, and MODDABLE is not set.`,
			`${configured ? "set MODDABLE to the folder of the SDK, or unset it and run: " : ""}${installSdk}`,
		);
	requireBuildPath("The Moddable SDK", folder);
	const version = machine.read(join(folder, "tools", "VERSION"))?.trim() || "of an unknown version";
	if (version !== sdkVersion && !isAnyVersion)
		throw new WrongToolError(
			`The Moddable SDK in ${folder} is ${version}; this project requires ${sdkVersion}.`,
			// xs-dev does not change an existing folder.
			`mv ${folder} ${folder}-previous && ${installSdk}`,
		);
	const tools = join(folder, "build", "bin", desktop, "release");
	if (!machine.isProgram(join(tools, "mcconfig")))
		throw new WrongToolError(
			`Tools of the Moddable SDK in ${folder} not built.`,
			makeTools({ folder, desktop, tools }),
		);
	const path = [join(machine.project, "node_modules", ".bin"), tools, machine.environment.PATH ?? ""];
	const { DEVICE_TOKEN: _device, MONITOR_TOKEN: _monitor, ...others } = machine.environment;
	const environment = { ...others, MODDABLE: folder, PATH: path.join(delimiter) };
	return { folder, version, desktop, tools, environment };
}

/** @returns path of the simulator @throws {ToolError} */
export function findSimulator(sdk: ModdableSdk, machine: Machine): string {
	const app = join(sdk.tools, sdk.desktop === "mac" ? "mcsim.app" : "mcsim");
	if (machine.exists(app)) return app;
	throw new ToolError(`${app} not found.`, makeTools(sdk));
}

/** @returns command that builds the programs of the SDK */
function makeTools({ folder, desktop, tools }: Pick<ModdableSdk, "folder" | "desktop" | "tools">): string {
	return `cd ${folder}/build/makefiles/${desktop} && MODDABLE=${folder} PATH="${tools}:$PATH" make release`;
}

/** Checks the compiler of the project, which mcconfig uses. @throws {ToolError} */
export function findTypeScript(machine: Machine): string {
	const file = join(machine.project, "node_modules", "typescript", "package.json");
	const version = /"version":\s*"([^"]+)"/.exec(machine.read(file) ?? "")?.[1];
	if (version !== undefined) return `TypeScript ${version}`;
	throw new ToolError("Packages not installed.", "npm ci");
}

export interface BuildOptions {
	readonly sdk: ModdableSdk;
	/** Argument for -p of mcconfig: `lin/dev-1`, `esp32:./hosts/dev-1`. */
	readonly platform: string;
	/** Path relative to the project; default: manifest of the firmware. */
	readonly manifest?: string;
	/** Created if missing. */
	readonly outputFolder: string;
	readonly isDebug: boolean;
	/** Settings as `key=value`, compiled into `mc/config`. */
	readonly settings?: readonly string[];
	/** Default: prints the output. */
	readonly onOutput?: ((text: string) => void) | undefined;
}

/**
 * Builds the firmware with mcconfig, always with `-t build`: any other target kills running simulators and debuggers.
 *
 * @throws Error if the build fails
 */
export async function build({
	sdk,
	platform,
	manifest = "manifest.json",
	outputFolder,
	isDebug,
	settings = [],
	onOutput = (text) => void process.stdout.write(text),
}: BuildOptions): Promise<void> {
	mkdirSync(outputFolder, { recursive: true });
	const words = ["-m", "-p", platform, "-t", "build", "-o", outputFolder, manifest, ...settings];
	const child = spawn(join(sdk.tools, "mcconfig"), isDebug ? ["-d", ...words] : words, {
		cwd: projectFolder,
		env: sdk.environment,
		stdio: ["ignore", "pipe", "pipe"],
	});
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding("utf8").on("data", (text: string) => onOutput(text));
	const code = await exitCodeOf(child);
	if (code !== 0) throw new Error(`mcconfig exited with ${code}`);
}
