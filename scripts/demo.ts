/** `npm run demo`: a gateway and two virtual devices, one of each model, in the time that it takes to compile XS once. */

import { models } from "../device/protocol/schema.js";
import { createGateway } from "../gateway/gateway.js";
import { readSettings } from "../gateway/settings.js";
import { refuseArguments, StartError } from "../gateway/start-error.js";
import { describeExit } from "../hosts/virtual/node/exit.js";
import { Identity } from "../hosts/virtual/node/identity.js";
import { VirtualDevice } from "../hosts/virtual/node/virtual-device.js";

try {
	await run();
} catch (error) {
	console.error(error instanceof StartError ? error.message : error);
	process.exit(1);
}

async function run(): Promise<void> {
	refuseArguments(process.argv.slice(2));
	const settings = readSettings({ LOG_LEVEL: "warn", ...process.env });
	const gateway = createGateway(settings);
	const { url, port, loginUrl } = await gateway.listen();
	const devices: VirtualDevice[] = [];
	let isStopping = false;
	const stop = async () => {
		// npm passes a Ctrl-C on that the terminal sends as well.
		if (isStopping) return;
		isStopping = true;
		await Promise.all(devices.map((device) => device.close()));
		await gateway.close();
		process.exit(0);
	};
	process.on("SIGINT", stop);
	process.on("SIGTERM", stop);

	for (const model of models) {
		const identity = Identity.claim({ dataDir: settings.dataDir, model });
		const { deviceId, serial, flashFile } = identity;
		process.on("exit", () => identity.close());
		devices.push(
			await VirtualDevice.start({
				model,
				serial,
				flashFile,
				settings: {
					gateway: `${settings.tls ? "wss" : "ws"}://127.0.0.1:${port}/device`,
					token: gateway.tokens.device,
				},
				onBoot: ({ version, isPendingVerify }) => {
					if (isPendingVerify) console.log(`${deviceId} starts ${version} for the first time`);
				},
				onExit: (exit) => console.error(`${deviceId} ended: ${describeExit(exit)}`),
			}),
		);
	}
	console.log(`Devices    ${devices.map((device) => device.deviceId).join(", ")}`);
	console.log(`Dashboard  ${settings.auth ? loginUrl : url}`);
	console.log("Ctrl-C ends all of it.");
}
