/**
 * `npm run device`: runs one virtual device and exits with the status of the XS machine; status 1 is a usage error or a
 * failed start.
 */

import { watch as watchFolder } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { messageOf } from "../device/message-of.js";
import { parseGatewayUrl } from "../device/network/gateway-url.js";
import { readSettings } from "../gateway/settings.js";
import { printableLines } from "../gateway/telemetry/printable.js";
import { describeExit } from "../hosts/virtual/node/exit.js";
import { buildFirmware, firmwareModules } from "../hosts/virtual/node/firmware.js";
import { claimIdentity } from "../hosts/virtual/node/identity.js";
import { applyInput, inputExamples } from "../hosts/virtual/node/input.js";
import { VirtualDevice, type VirtualDeviceOptions } from "../hosts/virtual/node/virtual-device.js";
import { findXs } from "../hosts/virtual/node/xs.js";
import { type Arguments, runCommand, UsageError } from "./command-line/command.js";
import { findModel, modelNames } from "./command-line/device-settings.js";
import { findGatewayToken } from "./command-line/gateway-token.js";
import { projectFolder } from "./command-line/project.js";
import { builtInReleaseKeys } from "./command-line/release-keys.js";

const usage = `Usage: npm run device -- --model ${modelNames.join("|")} [--gateway ws://127.0.0.1:8080/device | --discover] [--serial a1b2c3] [--restart | --watch]

Runs a virtual device. It reads JSON lines from standard input, such as ${inputExamples}

  --discover   find the gateway by mDNS (requires HOST=0.0.0.0 on the gateway) and store its address, like a board
  --restart    restart after a crash
  --watch      restart with the changed firmware when one of its sources is saved

The device token is read from DEVICE_TOKEN, or from the data folder (DATA_DIR, default data) of the gateway on this computer.`;

const options = {
	model: { type: "string" },
	gateway: { type: "string" },
	discover: { type: "boolean", default: false },
	serial: { type: "string" },
	restart: { type: "boolean", default: false },
	watch: { type: "boolean", default: false },
} as const;

await runCommand({ name: "device", usage, options, run });

async function run({ values }: Arguments<typeof options>): Promise<void> {
	const { discover, serial, restart, watch } = values;
	if (discover && values.gateway !== undefined)
		throw new UsageError("--discover cannot be combined with --gateway.");
	// The device discovers its gateway if the address is empty.
	const gateway = discover ? "" : (values.gateway ?? "ws://127.0.0.1:8080/device");
	if (!discover) parseGatewayUrl(gateway);
	const model = findModel(values.model);
	if (!model) throw new UsageError(`--model must be ${modelNames.join(" or ")}.`);
	if (serial !== undefined && !/^[0-9a-f]{6}$/i.test(serial))
		throw new UsageError("--serial must be six hexadecimal digits.");
	const token = findGatewayToken("device");
	const { dataDir } = readSettings({ DATA_DIR: process.env.DATA_DIR });
	const identity = claimIdentity({ dataDir, model, serial });
	process.on("exit", () => identity.close());
	const options: VirtualDeviceOptions = {
		model,
		serial: identity.serial,
		flashFile: identity.flashFile,
		settings: { gateway, token },
		builtIn: { releaseKeys: builtInReleaseKeys() },
		restartsAfterCrash: restart,
		onTrace: (text) => process.stdout.write(printableLines(text)),
		onBoot: ({ version, slot, resetReason }) =>
			console.log(`Boot loader: starting ${version} from slot ${slot} (${resetReason})`),
		onExit: (exit) => {
			console.error(printableLines(describeExit(exit)));
			if (exit.stack) console.error(printableLines(exit.stack));
			if (!watch) process.exit(exit.status || 1);
		},
	};
	let device: VirtualDevice | undefined = await VirtualDevice.start(options);
	const { deviceId } = device;
	if (watch)
		await watchSources(async () => {
			// Builds first, so that the device keeps running if a source has a syntax error.
			const program = await buildFirmware();
			await device?.close();
			device = undefined;
			device = await VirtualDevice.start({ ...options, program });
		});
	console.log(`Engine: ${findXs().description}`);
	console.log(`${deviceId} is running. Control it with JSON lines such as ${inputExamples}`);
	createInterface({ input: process.stdin }).on("line", (line) => {
		if (line.trim() === "") return;
		try {
			if (device) applyInput(device.board, line);
		} catch (error) {
			console.error(messageOf(error));
		}
	});
	const stop = async () => {
		await device?.close();
		process.exit(0);
	};
	process.on("SIGINT", stop);
	process.on("SIGTERM", stop);
}

/** Calls `onChange` after each change of the firmware's sources, one call at a time. */
async function watchSources(onChange: () => Promise<void>): Promise<void> {
	let timer: NodeJS.Timeout | undefined;
	let last = Promise.resolve();
	const run = () => {
		last = last.then(onChange).catch((error: unknown) => console.error(messageOf(error)));
	};
	// Folders, since an editor may replace a file, whose watcher then reports nothing more.
	for (const folder of new Set(Object.values(await firmwareModules()).map(dirname)))
		watchFolder(join(projectFolder, folder), () => {
			// An editor changes a file in several steps.
			clearTimeout(timer);
			timer = setTimeout(run, 100);
		});
}
