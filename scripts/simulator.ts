/** `npm run simulator`: runs the firmware in the Moddable simulator with a panel of LED ring, buttons and sensors. */

import { join } from "node:path";
import { installedSettings } from "../device/protocol/messages.js";
import { needSdk } from "./boards/tools.js";
import { exitCodeOf } from "./command-line/child.js";
import { print, runWords } from "./command-line/command.js";
import { modelNames, readGateway, settingsOf } from "./command-line/device-settings.js";
import { thisMachine } from "./command-line/machine.js";
import { Problems } from "./command-line/problems.js";
import { projectFolder } from "./command-line/project.js";
import { builtInReleaseKeys } from "./command-line/release-keys.js";
import { readDeviceWords } from "./command-line/setting-words.js";
import { anyVersionFlag } from "./moddable/sdk.js";
import { buildForSimulator, findWindow, startSimulator } from "./simulator/app.js";
import { claimFolder } from "./simulator/folder.js";

const usage = `Usage: npm run simulator -- ${modelNames.join("|")} [gateway=ws://127.0.0.1:8080/device] [token=…] [ssid=Simulated] [--any-version]

Runs the firmware in the Moddable simulator. Without token=, the device token is read from DEVICE_TOKEN, or from the data folder
(DATA_DIR, default data) of the gateway on this computer. A second simulator of the same model is a separate device. If xsbug is
running, the firmware connects to it, and trace output appears there.

  ca=ca.pem           CA certificate for wss and for updates over https
  password=…          Wi-Fi password; any except wrong-password is accepted
  sntp=pool.ntp.org   time server
  --any-version       allow other versions of the Moddable SDK than npm run doctor requires`;

const known = { names: installedSettings, flags: [anyVersionFlag] };

await runWords({ name: "simulator", usage, known, run });

async function run(words: readonly string[]): Promise<void> {
	const { model, settings, isAnyVersion } = readArguments(words);
	const problems = new Problems();
	const sdk = needSdk(problems, { isAnyVersion });
	problems.attempt(() => findWindow(thisMachine()));
	if (problems.areFound || !sdk) throw problems.asError();
	const parent = join(projectFolder, ".cache", "simulator");
	const { path, close } = claimFolder({ parent, model, desktop: sdk.desktop });
	try {
		console.log(`Building firmware for the simulated ${model} with the Moddable SDK in ${sdk.folder}`);
		const releaseKeys = builtInReleaseKeys();
		const app = await buildForSimulator({ sdk, model, releaseKeys, outputFolder: join(path, "build") });
		const simulator = startSimulator({ sdk, model, app, configFolder: path, settings, onTrace: print });
		console.log(`The simulated ${model} connects to ${settings.gateway}. Press Ctrl-C to stop.`);
		const stop = () => simulator.kill();
		process.once("SIGINT", stop);
		process.once("SIGTERM", stop);
		const code = await exitCodeOf(simulator);
		if (code) throw new Error(`mcsim exited with ${code}`);
	} finally {
		close();
	}
}

/** @throws UsageError with all errors */
function readArguments(words: readonly string[]) {
	return readDeviceWords(words, known, ({ values }, problems) => {
		const { gateway = "ws://127.0.0.1:8080/device" } = values;
		const { ca, token } = readGateway({ ...values, gateway }, problems);
		return { settings: { ssid: "Simulated", ...values, gateway, ...settingsOf({ token, ca }) } };
	});
}
