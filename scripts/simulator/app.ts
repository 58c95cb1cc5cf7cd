/**
 * Builds and runs the firmware in the Moddable simulator. Each simulator has its own configuration folder, where mcsim stores a copy
 * of the running app.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { isRecord, type Model } from "../../device/protocol/schema.js";
import type { DeviceSettings } from "../command-line/device-settings.js";
import { type Machine, ToolError } from "../command-line/machine.js";
import { packageVersion, projectFolder } from "../command-line/project.js";
import { type BuildOptions, build, type Desktop, type ModdableSdk } from "../moddable/sdk.js";

/** Name of mcsim in configuration folders. */
const signature = "tech.moddable.mcsim";
const panels = join(projectFolder, "hosts", "simulator", "panels");

interface SimulatorBuildOptions extends Pick<BuildOptions, "sdk" | "outputFolder" | "onOutput"> {
	readonly model: Model;
	/** Result of `formatReleaseKeys`. */
	readonly releaseKeys: string;
}

/** @returns path of the app */
export async function buildForSimulator(options: SimulatorBuildOptions): Promise<string> {
	const { sdk, model, releaseKeys, outputFolder, onOutput } = options;
	const subplatform = model.toLowerCase();
	const version = packageVersion();
	await build({
		sdk,
		platform: `${sdk.desktop}/${subplatform}`,
		outputFolder,
		isDebug: true,
		settings: [`version=${version}`, ...(releaseKeys === "" ? [] : [`release_keys=${releaseKeys}`])],
		onOutput,
	});
	return join(outputFolder, "bin", sdk.desktop, subplatform, "debug", "device", "mc.so");
}

export interface SimulatorOptions {
	readonly sdk: ModdableSdk;
	readonly model: Model;
	/** Result of `buildForSimulator`. */
	readonly app: string;
	/** Used on Linux; elsewhere mcsim has a fixed folder. */
	readonly configFolder: string;
	/** Settings merged into the stored ones. */
	readonly settings: DeviceSettings;
	/** Called with each line of trace output. */
	readonly onTrace: (line: string) => void;
}

/** Finds the display for the window. @throws {ToolError} */
export function findWindow({ platform, environment }: Machine): string {
	if (platform !== "linux") return "system display";
	const display = environment.DISPLAY || environment.WAYLAND_DISPLAY;
	if (display) return display;
	throw new ToolError(
		"No display for the simulator window: DISPLAY is not set.",
		"run it in a desktop session, or with xvfb-run.",
	);
}

/** Starts mcsim with the panels and the app. The caller ends the process. */
export function startSimulator({
	sdk,
	model,
	app,
	configFolder,
	settings,
	onTrace,
}: SimulatorOptions): ChildProcess {
	const kept = keptFolder(sdk.desktop, configFolder);
	writeSettings(join(kept, `${model.toLowerCase()}.json`), settings);
	if (sdk.desktop === "lin") arrangeWindow(configFolder);
	const [program, ...flags] = simulatorProgram(sdk);
	const child = spawn(program, [...flags, panels, app], {
		env: { ...sdk.environment, XDG_CONFIG_HOME: configFolder, NO_AT_BRIDGE: "1" },
		stdio: ["ignore", "pipe", "pipe"],
	});
	let rest = "";
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding("utf8").on("data", (text: string) => {
			const lines = (rest + text).split("\n");
			rest = lines.pop() ?? "";
			for (const line of lines) if (!line.startsWith("instruments")) onTrace(line);
		});
	return child;
}

function simulatorProgram(sdk: ModdableSdk): [string, ...string[]] {
	const mcsim = join(sdk.tools, "mcsim");
	if (sdk.desktop === "mac") return ["open", "-W", "-n", "-a", `${mcsim}.app`];
	// Output to a pipe would be buffered in blocks of 4 KB.
	return existsSync("/usr/bin/stdbuf") ? ["/usr/bin/stdbuf", "-oL", "-eL", mcsim] : [mcsim];
}

function keptFolder(desktop: Desktop, configFolder: string): string {
	if (desktop === "lin") return join(configFolder, signature);
	return join(homedir(), "Library", "Application Support", signature);
}

/** Merges settings into the file that hosts/simulator/panels/parts/device-store.js reads. */
function writeSettings(file: string, settings: DeviceSettings): void {
	let kept: Readonly<Record<string, unknown>> = {};
	try {
		const value: unknown = JSON.parse(readFileSync(file, "utf8"));
		if (isRecord(value)) kept = value;
	} catch {
		// The file is missing before the first start.
	}
	const values = { ...kept, settings: { ...(isRecord(kept.settings) && kept.settings), ...settings } };
	mkdirSync(join(file, ".."), { recursive: true });
	writeFileSync(file, JSON.stringify(values, null, "\t"), { mode: 0o600 });
}

/** Sets a window size that fits the panel, and dark colors, unless configured. */
function arrangeWindow(configFolder: string): void {
	const geometry = join(configFolder, `${signature}.ini`);
	if (!existsSync(geometry))
		writeFileSync(geometry, "[window]\nfullscreen=false\nmaximized=false\nx=0\ny=0\nwidth=900\nheight=810\n");
	const preferences = join(configFolder, `${signature}.main.json`);
	if (!existsSync(preferences)) writeFileSync(preferences, JSON.stringify({ colors: 1 }));
}
