/** `npm run simulator`: runs the firmware in the Moddable simulator with a panel of LED ring, buttons and sensors. */

import { join } from "node:path";
import { parseGatewayUrl } from "../device/network/gateway-url.js";
import { installedSettings } from "../device/protocol/messages.js";
import type { Model } from "../device/protocol/schema.js";
import { exitCodeOf } from "./command-line/child.js";
import { print, runCommand, UsageError } from "./command-line/command.js";
import { type DeviceSettings, findToken, modelNames, readAuthority } from "./command-line/device-settings.js";
import { thisMachine } from "./command-line/machine.js";
import { Problems } from "./command-line/problems.js";
import { projectFolder } from "./command-line/project.js";
import { builtInReleaseKeys } from "./command-line/release-keys.js";
import { parseDeviceWords } from "./command-line/setting-words.js";
import {
	anyVersionFlag,
	findApp,
	findProject,
	findSdk,
	findTypeScript,
	type ModdableSdk,
} from "./moddable/sdk.js";
import { buildForSimulator, findWindow, startSimulator } from "./simulator/app.js";
import { startDebugger } from "./simulator/debugger.js";
import { claimFolder, type SimulatorFolder } from "./simulator/folder.js";

const usage = `Usage: npm run simulator -- ${modelNames.join("|")} [gateway=ws://127.0.0.1:8080/device] [token=…] [ssid=Simulated] [--debug] [--any-version]

Runs the firmware in the Moddable simulator. Without token=, the device token is read from DEVICE_TOKEN, or from the data folder
(DATA_DIR, default data) of the gateway on this computer. A second simulator of the same model is a separate device.

  ca=ca.pem           CA certificate for wss and for updates over https
  password=…          Wi-Fi password; any except wrong-password is accepted
  sntp=pool.ntp.org   time server
  --debug             start xsbug and connect the firmware to it; trace output then appears there
  --any-version       allow other versions of the Moddable SDK than npm run doctor requires`;
const debugFlag = "debug";

await runCommand({
	name: "simulator",
	usage,
	options: [...installedSettings, debugFlag, anyVersionFlag],
	run,
});

async function run(words: readonly string[]): Promise<void> {
	const { model, settings, isDebugged, isAnyVersion } = readArguments(words);
	const problems = new Problems();
	const machine = thisMachine();
	problems.need(findProject(machine));
	problems.need(findTypeScript(machine));
	const sdk = problems.need(findSdk(machine, { isAnyVersion }));
	const xsbug = isDebugged && sdk ? problems.need(findApp(sdk, "xsbug", machine))?.what : undefined;
	problems.need(findWindow(machine));
	if (problems.areFound || !sdk) throw problems.asError();

	const folder = claimFolder({
		parent: join(projectFolder, ".cache", "simulator"),
		model,
		desktop: sdk.desktop,
	});
	try {
		await runIn(folder, { sdk, model, settings, xsbug });
	} finally {
		folder.close();
	}
}

interface RunOptions {
	readonly sdk: ModdableSdk;
	readonly model: Model;
	readonly settings: DeviceSettings;
	/** Path of the debugger; undefined without one. */
	readonly xsbug: string | undefined;
}

async function runIn({ path }: SimulatorFolder, { sdk, model, settings, xsbug }: RunOptions): Promise<void> {
	console.log(`Building firmware for the simulated ${model} with the Moddable SDK in ${sdk.folder}`);
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

	const debug = xsbug === undefined ? undefined : await startDebugger(xsbug, sdk, thisMachine());
	const simulator = startSimulator({
		sdk,
		model,
		app,
		configFolder: path,
		settings,
		onTrace: print,
	});
	console.log(`The simulated ${model} connects to ${settings.gateway}. Press Ctrl-C to stop.`);
	const stop = () => simulator.kill();
	process.once("SIGINT", stop);
	process.once("SIGTERM", stop);
	const code = await exitCodeOf(simulator);
	debug?.kill();
	if (code) throw new Error(`mcsim exited with ${code}`);
}

/** @throws UsageError with all errors */
function readArguments(words: readonly string[]) {
	const problems = new Problems();
	const known = { names: installedSettings, flags: [debugFlag, anyVersionFlag] };
	const { model, values, flags, isAnyVersion } = parseDeviceWords(words, known, problems);
	const { gateway = "ws://127.0.0.1:8080/device", token = problems.attempt(findToken) } = values;
	problems.attempt(() => parseGatewayUrl(gateway));
	const ca = values.ca && problems.attempt(() => readAuthority(values.ca));
	if (problems.areFound || !model) throw problems.asError(UsageError);
	const settings = { ssid: "Simulated", gateway, ...values, ...(token && { token }), ...(ca && { ca }) };
	return { model, settings, isDebugged: flags.includes(debugFlag), isAnyVersion };
}
