/** `npm run demo`: runs a gateway and a virtual device of each model, whose boards can be operated from the dashboard. */

import { fileURLToPath } from "node:url";
import { type Model, models } from "../device/protocol/schema.js";
import { createDashboard } from "../gateway/dashboard/extension.js";
import type { CreateExtension } from "../gateway/extension.js";
import { loadExtensions } from "../gateway/extensions.js";
import { Gateway } from "../gateway/gateway.js";
import { isProgram } from "../gateway/program.js";
import { readSettings } from "../gateway/settings.js";
import { createLog } from "../gateway/telemetry/log.js";
import { printableLines } from "../gateway/telemetry/printable.js";
import { describeExit } from "../hosts/virtual/node/exit.js";
import { claimIdentity } from "../hosts/virtual/node/identity.js";
import { VirtualDevice } from "../hosts/virtual/node/virtual-device.js";
import { findXs } from "../hosts/virtual/node/xs.js";
import { type Arguments, runCommand } from "./command-line/command.js";
import { modelNames } from "./command-line/device-settings.js";
import { builtInReleaseKeys } from "./command-line/release-keys.js";
import { DemoApi } from "./demo/routes.js";
import { type EmulatedDevice, setUp } from "./qemu/device.js";

const usage = `Usage: npm run demo [-- --qemu ${modelNames.join("|")}]

Runs a gateway and a virtual device of each model. It is configured by environment variables like npm start; see gateway/README.md.

  --qemu   also builds the firmware of a board, and runs it in QEMU`;

/** @param hasVoice whether texts can be announced */
const toTry = (hasVoice: boolean) => `Try next, on the page of a device:
  1. Controls: change the volume and the color of the ring, press Flash light.
  2. Board: hold a button, dim the light, take the device out of Wi-Fi range, cut its power.
  3. Board: "Listen in this browser" plays its speaker; ${
		hasVoice ? "announce a text." : "announce a file. A text requires espeak-ng."
	}
  4. Board: "Build and install" builds a release of this checkout and updates the device.
  5. Change the firmware, for example volumeStep in device/rules.ts, and build and install it.`;

const pageEntry = fileURLToPath(new URL("demo/page/main.tsx", import.meta.url));
const createDemoPage: CreateExtension = (core) => createDashboard(core, pageEntry);

const options = { qemu: { type: "string" } } as const;

await runCommand({ name: "demo", usage, options, run });

async function run({ values: { qemu } }: Arguments<typeof options>): Promise<void> {
	const { LOG_LEVEL, SPEECH_COMMAND, PATH } = process.env;
	const speech = SPEECH_COMMAND?.trim() || (isProgram("espeak-ng", PATH) ? "espeak-ng --stdout" : "");
	const environment = { ...process.env, LOG_LEVEL: LOG_LEVEL?.trim() || "warn", SPEECH_COMMAND: speech };
	const settings = readSettings(environment);
	const devices: VirtualDevice[] = [];
	let emulated: EmulatedDevice | undefined;
	const { releasesDir, releaseKeys } = settings;
	const running = () => devices.map(({ started }) => started.version);
	const api = new DemoApi({ releasesDir, releaseKeys, running });
	const log = createLog(settings.logLevel);
	const joined = await loadExtensions(environment, log);
	const gateway = new Gateway({
		...settings,
		log,
		...joined,
		extensions: [
			...joined.extensions.map((extension) => (extension === createDashboard ? createDemoPage : extension)),
			() => ({ routes: api.routes }),
		],
	});
	const { url, port, loginUrl } = await gateway.listen();
	const close = async () => {
		api.close();
		await Promise.all([...devices, emulated].map((device) => device?.close()));
		await gateway.close();
	};
	let isStopping = false;
	const stop = async () => {
		// Ctrl-C sends the signal twice: from the terminal and from npm.
		if (isStopping) return;
		isStopping = true;
		await close();
		process.exit(0);
	};
	process.on("SIGINT", stop);
	process.on("SIGTERM", stop);

	const gatewayUrl = `${settings.tls ? "wss" : "ws"}://127.0.0.1:${port}/device`;
	try {
		for (const model of models)
			devices.push(
				await startDevice(model, settings.dataDir, { gateway: gatewayUrl, token: gateway.tokens.device }),
			);
		if (qemu !== undefined)
			emulated = await setUp([qemu, `gateway=${gatewayUrl}`, `token=${gateway.tokens.device}`]);
		emulated?.qemu.stdout.resume();
	} catch (error) {
		await close();
		throw error;
	}
	const shown = [...devices, ...(emulated ? [emulated] : [])];
	api.serve(shown);
	console.log(`Engine     ${findXs().description}`);
	console.log(`Devices    ${shown.map((device) => device.deviceId).join(", ")}`);
	console.log(`Dashboard  ${settings.auth ? loginUrl : url}`);
	console.log(toTry(speech !== ""));
	console.log("Press Ctrl-C to stop.");
}

function startDevice(
	model: Model,
	dataDir: string,
	settings: { readonly gateway: string; readonly token: string },
): Promise<VirtualDevice> {
	const identity = claimIdentity({ dataDir, model });
	const { deviceId, serial, flashFile } = identity;
	process.on("exit", () => identity.close());
	return VirtualDevice.start({
		model,
		serial,
		flashFile,
		settings,
		builtIn: { releaseKeys: builtInReleaseKeys() },
		onBoot: ({ version, isPendingVerify }) => {
			if (isPendingVerify) console.log(`${deviceId} starts ${version} for the first time`);
		},
		restartsAfterCrash: true,
		onCrash: (exit) =>
			console.error(printableLines(`${deviceId} crashed, restarting: ${describeExit(exit)}`)),
		onExit: (exit) => console.error(printableLines(`${deviceId} exited: ${describeExit(exit)}`)),
	});
}
