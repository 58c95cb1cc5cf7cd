/**
 * `npm run device`: runs one virtual device. When the firmware ends, other than by a restart, it prints the reason and the line of
 * TypeScript, and exits with the machine's status. Status 1: wrong arguments; 2: the computer lacks something.
 */

import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { parseGatewayUrl } from "../../../device/network/gateway-url.js";
import { models } from "../../../device/protocol/schema.js";
import { findDeviceToken } from "./device-token.js";
import { describeExit } from "./exit.js";
import { Identity } from "./identity.js";
import { applyInput, inputExamples } from "./input.js";
import { VirtualDevice } from "./virtual-device.js";

const usage = `npm run device -- --model dev-1|proto-1 [--gateway ws://127.0.0.1:8080/device] [--serial a1b2c3]
The token comes from DEVICE_TOKEN, else from the data folder (DATA_DIR, or data) of the gateway on this computer.`;

const { model, gateway, serial } = readArguments();
const dataDir = process.env.DATA_DIR || "data";

try {
	await run();
} catch (error) {
	console.error(error instanceof Error ? error.message : error);
	process.exitCode = 2;
}

async function run(): Promise<void> {
	const token = findDeviceToken(dataDir);
	const identity = Identity.claim({ dataDir, model, serial });
	process.on("exit", () => identity.close());
	const device = await VirtualDevice.start({
		model,
		serial: identity.serial,
		flashFile: identity.flashFile,
		settings: { gateway, token },
		onTrace: (text) => process.stdout.write(text),
		onBoot: ({ version, slot, resetReason }) =>
			console.log(`the boot loader starts ${version} from slot ${slot} (${resetReason})`),
		onExit: (exit) => {
			console.error(describeExit(exit));
			if (exit.stack) console.error(exit.stack);
			process.exit(exit.status || 1);
		},
	});
	console.log(`${device.deviceId} runs; work it with JSON lines: ${inputExamples}`);
	createInterface({ input: process.stdin }).on("line", (line) => {
		if (line.trim() === "") return;
		try {
			applyInput(device.board, line);
		} catch (error) {
			console.error(error instanceof Error ? error.message : error);
		}
	});
	const stop = () => device.close().then(() => process.exit(0));
	process.on("SIGINT", stop);
	process.on("SIGTERM", stop);
}

function readArguments() {
	try {
		const { values } = parseArgs({
			options: {
				model: { type: "string" },
				gateway: { type: "string", default: "ws://127.0.0.1:8080/device" },
				serial: { type: "string" },
			},
		});
		const model = models.find((name) => name === values.model?.toUpperCase());
		if (!model) throw new Error("--model must be dev-1 or proto-1");
		if (values.serial !== undefined && !/^[0-9a-f]{6}$/i.test(values.serial))
			throw new Error("--serial must be six hex digits");
		parseGatewayUrl(values.gateway);
		return { model, gateway: values.gateway, serial: values.serial };
	} catch (error) {
		console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`);
		process.exit(1);
	}
}
