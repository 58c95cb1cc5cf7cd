/** `npm run simulator`: runs the firmware in the Moddable desktop simulator, with a panel of LED ring, buttons and sensors. */

import { join } from "node:path";
import { type InstalledSetting, installedSettings } from "../device/protocol/messages.js";
import type { Model } from "../device/protocol/schema.js";
import { printable } from "../gateway/telemetry/printable.js";
import { exitCodeOf } from "./command-line/child.js";
import { runCommand, UsageError } from "./command-line/command.js";
import {
	type DeviceSettings,
	findModel,
	findToken,
	modelNames,
	modelProblem,
	parseGateway,
	readAuthority,
} from "./command-line/device-settings.js";
import { Problems } from "./command-line/problems.js";
import { projectFolder } from "./command-line/project.js";
import { builtInReleaseKeys } from "./command-line/release-keys.js";
import { parseSettingWords } from "./command-line/setting-words.js";
import { anyVersionFlag, findModdableSdk, type ModdableSdk } from "./moddable/sdk.js";
import { buildForSimulator, startSimulator } from "./simulator/app.js";
import { findDebugger, startDebugger } from "./simulator/debugger.js";
import { SimulatorFolder } from "./simulator/folder.js";

const usage = `Usage: npm run simulator -- ${modelNames.join("|")} [gateway=ws://127.0.0.1:8080/device] [token=…] [ssid=Simulated] [--debug] [--any-version]

Runs the firmware in the Moddable simulator. Without token=, the device token is DEVICE_TOKEN, or that in the data folder
(DATA_DIR, or data) of the gateway on this computer. While one runs, a second one of the same model is another device.

  ca=ca.pem           for wss, and for updates by https: the authority that signed the server's certificate
  password=…          of the access point, which takes every one but wrong-password
  sntp=pool.ntp.org   the time server
  --debug             starts xsbug, which then shows what the firmware traces, and connects the firmware to it
  --any-version       also with another Moddable SDK than npm run doctor asks for`;
/** What a device cannot do without. */
const needed: readonly InstalledSetting[] = ["gateway", "token", "ssid"];
const debugFlag = "debug";

await runCommand({
	name: "simulator",
	usage,
	options: [...installedSettings, debugFlag, anyVersionFlag],
	run,
});

async function run(words: readonly string[]): Promise<void> {
	const { model, given, isDebugged, isAnyVersion } = readArguments(words);
	const settings = {
		ssid: "Simulated",
		gateway: "ws://127.0.0.1:8080/device",
		token: given.token ?? findToken(),
		...given,
		...(given.ca && { ca: readAuthority(given.ca) }),
	};
	parseGateway(settings.gateway);
	const sdk = findModdableSdk({ isAnyVersion });
	if (isDebugged) findDebugger(sdk);
	if (sdk.desktop === "lin" && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY)
		throw new Error("The simulator needs a desktop for its window: DISPLAY is not set.");

	const folder = SimulatorFolder.claim({
		parent: join(projectFolder, ".cache", "simulator"),
		model,
		desktop: sdk.desktop,
	});
	try {
		await runIn(folder, { sdk, model, settings, isDebugged });
	} finally {
		folder.close();
	}
}

interface RunOptions {
	readonly sdk: ModdableSdk;
	readonly model: Model;
	readonly settings: DeviceSettings;
	readonly isDebugged: boolean;
}

async function runIn(
	{ path }: SimulatorFolder,
	{ sdk, model, settings, isDebugged }: RunOptions,
): Promise<void> {
	console.log(`Building the firmware for the simulated ${model} with the Moddable SDK in ${sdk.folder}`);
	let output = "";
	const app = await buildForSimulator({
		sdk,
		model,
		releaseKeys: builtInReleaseKeys(),
		outputFolder: join(path, "build"),
		onOutput: (text) => {
			output += text;
		},
	}).catch((error: unknown) => {
		console.error(output);
		throw error;
	});

	const xsbug = isDebugged ? await startDebugger(sdk) : undefined;
	const simulator = startSimulator({
		sdk,
		model,
		app,
		configFolder: path,
		settings,
		onTrace: (line) => console.log(printable(line)),
	});
	console.log(`The simulated ${model} connects to ${settings.gateway}. Ctrl-C ends it.`);
	const stop = () => simulator.kill();
	process.once("SIGINT", stop);
	process.once("SIGTERM", stop);
	const code = await exitCodeOf(simulator);
	xsbug?.kill();
	if (code) throw new Error(`mcsim ended with ${code}`);
}

interface Arguments {
	readonly model: Model;
	readonly given: DeviceSettings;
	readonly isDebugged: boolean;
	readonly isAnyVersion: boolean;
}

/** @throws UsageError */
function readArguments([name, ...words]: readonly string[]): Arguments {
	const problems = new Problems();
	const model = findModel(name);
	if (!model) problems.add(modelProblem(name));
	const { values, flags } = parseSettingWords(
		{ words, names: installedSettings, flags: [debugFlag, anyVersionFlag], position: 2 },
		problems,
	);
	for (const name of needed)
		if (values[name] === "") problems.add(`${name}= has no value: leave it out, or write what it should be.`);
	if (problems.areFound || !model) throw new UsageError(problems.asError().message);
	return {
		model,
		given: { ...values },
		isDebugged: flags.includes(debugFlag),
		isAnyVersion: flags.includes(anyVersionFlag),
	};
}
