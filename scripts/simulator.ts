/**
 * `npm run simulator`: the firmware in the Moddable desktop simulator, with a panel of ring, buttons and sensors. Another
 * gateway or token needs no rebuild: they are settings of the simulated device, written before it starts.
 */

import { join } from "node:path";
import { parseGatewayUrl } from "../device/network/gateway-url.js";
import { type Model, models } from "../device/protocol/schema.js";
import { readAuthority } from "./boards/flash-arguments.js";
import { findToken, runCommand } from "./command-line/problems.js";
import { projectFolder } from "./command-line/project.js";
import { findModdableSdk } from "./moddable/sdk.js";
import { buildForSimulator, type DeviceSettings, startSimulator } from "./simulator/app.js";

const usage = `npm run simulator -- dev-1|proto-1 [gateway=ws://127.0.0.1:8080/device] [token=…] [ssid=Simulated]
  ca=ca.pem           for wss, and for updates over https: the certificate authority of the server's certificate
The token comes from DEVICE_TOKEN, else from the data folder (DATA_DIR, or data) of the gateway on this computer.`;
const settingNames: readonly string[] = ["gateway", "token", "ssid", "ca", "sntp"];

await runCommand((words) => {
	const { model, given } = readArguments(words);
	return run(model, given);
});

async function run(model: Model, given: DeviceSettings): Promise<void> {
	const settings = {
		ssid: "Simulated",
		gateway: "ws://127.0.0.1:8080/device",
		token: given.token ?? findToken(),
		...given,
		...(given.ca && { ca: readAuthority(given.ca) }),
	};
	parseGatewayUrl(settings.gateway);
	const sdk = findModdableSdk();
	if (sdk.desktop === "lin" && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY)
		throw new Error("The simulator opens a window, and there is no desktop here: DISPLAY is not set.");

	console.log(`Building the firmware for the simulated ${model} with the Moddable SDK in ${sdk.folder}`);
	let output = "";
	const app = await buildForSimulator({
		sdk,
		model,
		outputFolder: join(projectFolder, ".cache", "simulator"),
		onOutput: (text) => {
			output += text;
		},
	}).catch((error: unknown) => {
		console.error(output);
		throw error;
	});

	const simulator = startSimulator({
		sdk,
		model,
		app,
		configFolder: join(projectFolder, ".cache", "simulator", model.toLowerCase()),
		settings,
		onTrace: (line) => console.log(line),
	});
	console.log(`The simulated ${model} talks to ${settings.gateway}. Ctrl-C ends it.`);
	const stop = () => simulator.kill();
	process.once("SIGINT", stop);
	process.once("SIGTERM", stop);
	const code = await new Promise<number | null>((resolve, reject) => {
		simulator.on("error", reject);
		simulator.on("exit", resolve);
	});
	if (code) throw new Error(`mcsim ended with ${code}`);
}

function readArguments(words: readonly string[]): { model: Model; given: DeviceSettings } {
	const [name, ...pairs] = words;
	const model = models.find((one) => one.toLowerCase() === name?.toLowerCase());
	if (!model) throw new Error(usage);
	const given: Record<string, string> = {};
	for (const pair of pairs) {
		const equals = pair.indexOf("=");
		const key = pair.slice(0, equals);
		if (equals < 0 || !settingNames.includes(key)) throw new Error(`${pair}: not understood\n${usage}`);
		given[key] = pair.slice(equals + 1);
	}
	return { model, given };
}
