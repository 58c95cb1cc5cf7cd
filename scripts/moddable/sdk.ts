/**
 * Finds the Moddable SDK and what stands on it, for the scripts that build with it. Where something is missing, it says what
 * to type: an SDK half installed fails later with a message that names none of this.
 */

import { spawn } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { exitCodeOf } from "../command-line/child.js";
import { projectFolder } from "../command-line/project.js";

/** What mcconfig calls the desktop that this runs on. */
export type Desktop = "lin" | "mac" | "win";

export interface ModdableSdk {
	readonly folder: string;
	readonly desktop: Desktop;
	/** The folder of its tools. */
	readonly tools: string;
	/** For its tools: MODDABLE, a PATH with the tools and the project's own tsc, and no token. */
	readonly environment: Readonly<NodeJS.ProcessEnv>;
}

/** Something that a person has to install or set; the message says what. */
export class MissingTool extends Error {
	override name = "MissingTool";
}

/**
 * @param environment where MODDABLE is looked up; without it the SDK is taken from where xs-dev puts it
 * @throws MissingTool
 */
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
	const path = [join(projectFolder, "node_modules", ".bin"), tools, environment.PATH ?? ""];
	const { DEVICE_TOKEN: _device, MONITOR_TOKEN: _monitor, ...others } = environment;
	return {
		folder,
		desktop,
		tools,
		environment: { ...others, MODDABLE: folder, PATH: path.join(delimiter) },
	};
}

export interface BuildOptions {
	readonly sdk: ModdableSdk;
	/** As mcconfig's -p takes it: `lin/dev-1`, `esp32:./hosts/dev-1`. */
	readonly platform: string;
	/** Relative to the project; by default the firmware's. */
	readonly manifest?: string;
	/** Where all output goes; made if missing. */
	readonly outputFolder: string;
	readonly isDebug: boolean;
	/** `key=value`, which the firmware reads from `mc/config`: they are compiled in. */
	readonly settings?: readonly string[];
	/** Each piece of what the build prints. */
	readonly onOutput: (text: string) => void;
}

/**
 * Builds the firmware with mcconfig. Always `-t build`: any other target first kills every simulator and debugger that runs.
 *
 * @throws Error where the build fails; onOutput has heard why
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
			// Not this one.
		}
	}
	return false;
}
