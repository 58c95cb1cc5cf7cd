/** Finds the Moddable SDK and builds with it. Errors about a missing part say what to install. */

import { spawn } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { isRecord } from "../../device/protocol/schema.js";
import { exitCodeOf } from "../command-line/child.js";
import { projectFolder } from "../command-line/project.js";

/** The first that knows es2025, the target of the SDK's configuration. */
const oldestTypeScript = 6;

/** mcconfig's name of the operating system. */
export type Desktop = "lin" | "mac" | "win";

export interface ModdableSdk {
	readonly folder: string;
	readonly desktop: Desktop;
	/** Folder of its programs. */
	readonly tools: string;
	/** For its tools: MODDABLE, a PATH with them and the project's tsc, and no tokens. */
	readonly environment: Readonly<NodeJS.ProcessEnv>;
}

/** The message says what to install or set. */
export class MissingTool extends Error {
	override name = "MissingTool";
}

/** Looks where MODDABLE points, else where xs-dev installs it. @throws MissingTool */
export function findModdableSdk(environment: NodeJS.ProcessEnv = process.env): ModdableSdk {
	const desktop = thisDesktop();
	const { MODDABLE: given } = environment;
	const folder = given || join(homedir(), ".local", "share", "moddable");
	if (!existsSync(join(folder, "tools", "mcconfig.js")))
		throw new MissingTool(
			given
				? `MODDABLE is ${given}, but there is no Moddable SDK. Set it to the SDK's folder, or install one: npx xs-dev setup`
				: `There is no Moddable SDK in ${folder} and MODDABLE is not set. Install it: npx xs-dev setup`,
		);
	const tools = join(folder, "build", "bin", desktop, "release");
	if (!isProgram(join(tools, "mcconfig")))
		throw new MissingTool(
			`The Moddable SDK in ${folder} is not built. Build it: ` +
				`cd ${join(folder, "build", "makefiles", desktop)} && PATH="${tools}:$PATH" make release`,
		);
	requireTypeScript(join(projectFolder, "node_modules"));
	const path = [join(projectFolder, "node_modules", ".bin"), tools, environment.PATH ?? ""];
	const { DEVICE_TOKEN: _device, MONITOR_TOKEN: _monitor, ...others } = environment;
	return {
		folder,
		desktop,
		tools,
		environment: { ...others, MODDABLE: folder, PATH: path.join(delimiter) },
	};
}

/** @param packages the folder node_modules, whose compiler mcconfig uses @throws MissingTool where it does not know es2025 */
export function requireTypeScript(packages: string): void {
	const file = join(packages, "typescript", "package.json");
	if (!existsSync(file)) throw new MissingTool(`There is no TypeScript in ${packages}. Install it: npm ci`);
	const found: unknown = JSON.parse(readFileSync(file, "utf8"));
	const version = isRecord(found) ? String(found.version) : "";
	if (!(Number.parseInt(version, 10) >= oldestTypeScript))
		throw new MissingTool(
			`TypeScript in ${packages} is ${version}, and the Moddable SDK needs ${oldestTypeScript} or newer. Install it: npm ci`,
		);
}

export interface BuildOptions {
	readonly sdk: ModdableSdk;
	/** For mcconfig's -p: `lin/dev-1`, `esp32:./hosts/dev-1`. */
	readonly platform: string;
	/** Relative to the project; default: the firmware's. */
	readonly manifest?: string;
	/** Created if missing. */
	readonly outputFolder: string;
	readonly isDebug: boolean;
	/** `key=value`, compiled into `mc/config`. */
	readonly settings?: readonly string[];
	readonly onOutput: (text: string) => void;
}

/**
 * Builds the firmware with mcconfig, always with `-t build`: any other target kills running simulators and debuggers.
 *
 * @throws Error where the build fails; its output says why
 */
export async function build(options: BuildOptions): Promise<void> {
	const {
		sdk,
		platform,
		manifest = "manifest.json",
		outputFolder,
		isDebug,
		settings = [],
		onOutput,
	} = options;
	mkdirSync(outputFolder, { recursive: true });
	const flags = [
		...(isDebug ? ["-d"] : []),
		"-m",
		"-p",
		platform,
		"-t",
		"build",
		"-o",
		outputFolder,
		manifest,
	];
	const child = spawn(join(sdk.tools, "mcconfig"), [...flags, ...settings], {
		cwd: projectFolder,
		env: sdk.environment,
		stdio: ["ignore", "pipe", "pipe"],
	});
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding("utf8").on("data", (text: string) => onOutput(text));
	const code = await exitCodeOf(child);
	if (code !== 0) throw new Error(`mcconfig ended with ${code}`);
}

function thisDesktop(): Desktop {
	switch (process.platform) {
		case "linux":
			return "lin";
		case "darwin":
			return "mac";
		case "win32":
			return "win";
		default:
			throw new MissingTool(`The Moddable SDK does not run on ${process.platform}.`);
	}
}

function isProgram(path: string): boolean {
	for (const name of [path, `${path}.exe`]) {
		try {
			accessSync(name, constants.X_OK);
			return true;
		} catch {
			// Try the next name.
		}
	}
	return false;
}
